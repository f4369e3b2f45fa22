"""Writes what the Hugging Face classes compute: on random small checkpoints, and on the small
model in the formats that no other reference covers."""
import json
import os
import platform

import numpy
import torch
import transformers
from safetensors.torch import save

import compare
import families
import hf_model

COMMAND = ("python3 tools/oracle/hf_oracle.py fixtures models/tiny-bf16"
           " tests/golden/reference/prompts.json tests/golden/oracle")
FORMATS = ("fp8-ue8m0", "fp8-tensor", "mxfp4")
RECORDED_PROMPT = "capital"


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)
        f.write("\n")


def write_tensors(path, tensors):
    with open(path, "wb") as f:
        f.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def patches_of(config):
    """The corrections of hf_model.PATCHES that can change this configuration's outputs."""
    names = ["ordered_topk", "latent_norm_eps"]
    if config["model_type"] == "deepseek_v2" and config["norm_topk_prob"]:
        names.append("v2_norm_topk_prob")
    return {name: hf_model.PATCHES[name] for name in names}


def provenance(config, **extra):
    """What made a fixture."""
    return {
        "command": COMMAND,
        "model_class": hf_model.CLASSES[config["model_type"]].__name__,
        "versions": {"python": platform.python_version(), "numpy": numpy.__version__,
                     "torch": torch.__version__, "transformers": transformers.__version__},
        "arithmetic": "float32, eager attention, no cache, weights as stored",
        "patches": patches_of(config),
        **extra,
    }


def write_family(folder, spec):
    """One random checkpoint with its expected outputs."""
    families.write_checkpoint(folder, spec)
    model = hf_model.load_model(folder)
    with hf_model.choice_margins() as margins:
        outputs = hf_model.run(model, families.make_prompt(spec))
    write_tensors(os.path.join(folder, "expected.safetensors"), outputs)
    write_json(os.path.join(folder, "provenance.json"),
               provenance(spec["config"], seed=spec["seed"], choices=margins))
    rms = outputs["hidden"].pow(2).mean((1, 2)).sqrt().tolist()
    print(f"{os.path.basename(folder):18} hidden rms", [round(x, 2) for x in rms],
          "logits std", round(float(outputs["logits"].std()), 2), flush=True)


def greedy_record(model, bf16, prompt):
    """One prompt's entry, as in the other references."""
    ids, margin = compare.greedy(model, prompt["ids"], compare.real_vocabulary(bf16))
    return {"name": prompt["name"], "prompt_tokens": len(prompt["ids"]), "greedy_ids": ids,
            "min_margin": round(margin, 4)}


def write_format(folder, bf16, prompts, fmt):
    """References of the small model in one format: every greedy answer, one prompt's tensors."""
    model = compare.load_format(bf16, fmt)
    recorded = next(prompt for prompt in prompts if prompt["name"] == RECORDED_PROMPT)
    outputs = hf_model.run(model, recorded["ids"])
    write_tensors(os.path.join(folder, fmt + ".safetensors"),
                  {f"{RECORDED_PROMPT}.{key}": value for key, value in outputs.items()})
    write_json(os.path.join(folder, fmt + ".json"),
               [greedy_record(model, bf16, prompt) for prompt in prompts])
    print(fmt, flush=True)


def write_all(bf16, prompts_file, out):
    """Writes every fixture below `out`."""
    for name, spec in families.FAMILIES.items():
        write_family(os.path.join(out, name), spec)
    folder = os.path.join(out, "formats")
    os.makedirs(folder, exist_ok=True)
    for fmt in FORMATS:
        write_format(folder, bf16, compare.read_json(prompts_file), fmt)
    write_json(os.path.join(folder, "provenance.json"),
               provenance(hf_model.read_config(bf16), formats=FORMATS))
