"""Compares the Hugging Face oracle with the stored reference outputs of the small model."""
import json
import os
import sys
import tempfile

import torch
from safetensors.torch import load_file

import hf_model

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import make_formats  # noqa: E402  (the writer lives one folder up)

MAX_NEW_TOKENS = 96


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def load_format(bf16, fmt):
    """The small model as it reads back from one stored format."""
    if fmt == "bf16":
        return hf_model.load_model(bf16)
    with tempfile.TemporaryDirectory() as folder:
        make_formats.write_format(bf16, folder, make_formats.load_checkpoint(bf16), fmt)
        return hf_model.load_model(folder)


def real_vocabulary(folder):
    """Number of ids the tokenizer has; higher rows of the head are padding."""
    tokenizer = read_json(os.path.join(folder, "tokenizer.json"))
    ids = list(tokenizer["model"]["vocab"].values())
    return 1 + max(ids + [token["id"] for token in tokenizer["added_tokens"]])


def greedy(model, ids, vocabulary):
    """-> greedy continuation, and the smallest gap between the two best logits on the way."""
    new, margin = [], float("inf")
    while len(new) < MAX_NEW_TOKENS and not (new and new[-1] in model.config.eos_token_id):
        last = hf_model.logits_of(model, ids + new)[-1, :vocabulary]
        best = hf_model.ordered_topk(last, 2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        new.append(int(best.indices[0]))
    return new, margin


def relative(ours, reference):
    """Largest |difference| / |reference| over positions, norms over the last axis."""
    difference = (ours - reference).norm(dim=-1) / reference.norm(dim=-1)
    return float(difference.max())


def wrong_rows(ours, reference):
    """-> rows that differ as sets, rows; absent positions are -1 on both sides."""
    differ = (ours.sort(-1).values != reference.sort(-1).values).any(-1)
    return torch.tensor([int(differ.sum()), len(differ)])


def compare_greedy(model, bf16, prompts, reference):
    """-> (equal prompts, largest difference of min_margin)."""
    vocabulary, equal, margin_error = real_vocabulary(bf16), 0, 0.0
    for prompt, expected in zip(prompts, reference, strict=True):
        new, margin = greedy(model, prompt["ids"], vocabulary)
        equal += new == expected["greedy_ids"]
        margin_error = max(margin_error, abs(margin - expected["min_margin"]))
    return equal, margin_error


def compare_tensors(model, reference):
    """-> largest relative differences and mismatching rows over the recorded prompts."""
    worst = {"logits": 0.0, "hidden": 0.0}
    rows = {"selection": torch.zeros(2, dtype=int), "experts": torch.zeros(2, dtype=int)}
    for prompt in sorted({key.split(".")[0] for key in reference}):
        ours = hf_model.run(model, reference[prompt + ".ids"].tolist())
        for key, value in ours.items():
            kind = key.split(".")[0]
            if kind in worst:
                worst[kind] = max(worst[kind], relative(value, reference[f"{prompt}.{key}"]))
            elif kind in rows:
                rows[kind] += wrong_rows(value, reference[f"{prompt}.{key}"])
    return {**worst, **{kind: "{}/{}".format(*count.tolist()) for kind, count in rows.items()}}


def compare(bf16, reference_root):
    """Prints one row for each format that has a reference."""
    prompts = read_json(os.path.join(reference_root, "prompts.json"))
    print("format     greedy  margin diff  logits    hidden    wrong selections  wrong experts")
    for fmt in ("bf16", "fp8", "nvfp4", "nvfp4-ct", "int4"):
        model = load_format(bf16, fmt)
        base = os.path.join(reference_root, fmt)
        t = compare_tensors(model, load_file(base + ".safetensors"))
        equal, margin = compare_greedy(model, bf16, prompts, read_json(base + ".json"))
        print(f"{fmt:10} {equal}/{len(prompts)}   {margin:<11.1e}  {t['logits']:.1e}   "
              f"{t['hidden']:.1e}   {t['selection']:16}  {t['experts']}", flush=True)
