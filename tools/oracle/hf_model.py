"""The Hugging Face models as oracles: loading, the corrections they need, what a run records."""
import contextlib
import json
import os
import re
from typing import NamedTuple

import torch
import transformers
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as v2

from dequant import load_float32

CLASSES = {
    "glm_moe_dsa": transformers.GlmMoeDsaForCausalLM,
    "deepseek_v32": transformers.DeepseekV32ForCausalLM,
    "deepseek_v3": transformers.DeepseekV3ForCausalLM,
    "kimi_k2": transformers.DeepseekV3ForCausalLM,  # released Kimi K2 names this architecture
    "deepseek_v2": transformers.DeepseekV2ForCausalLM,
}
PATCHES = {
    "ordered_topk": "torch.topk leaves the order of ties open; experts and selected positions are"
                    " taken by score descending, then index ascending.",
    "latent_norm_eps": "q_a_layernorm and kv_a_layernorm are built with eps 1e-6; set to"
                       " rms_norm_eps, as the serving stacks do.",
    "v2_norm_topk_prob": "the deepseek_v2 router ignores norm_topk_prob; when true, the weights are"
                         " divided by their sum and not scaled by routed_scaling_factor.",
}
_plain_v2_router = v2.DeepseekV2TopkRouter.forward


_margins = []  # the dictionaries that choice_margins() is filling


def ordered_topk(scores, k, dim=-1, sorted=True):  # the signature of torch.topk
    """torch.topk with a defined order: score descending, index ascending; -0.0 equals 0.0."""
    values, indices = torch.sort(scores, dim=dim, descending=True, stable=True)
    for margins in _margins:
        note_margin(margins, values.movedim(dim, -1), k)
    return TopK(values.narrow(dim, 0, k), indices.narrow(dim, 0, k))


class TopK(NamedTuple):
    """What torch.topk returns."""
    values: torch.Tensor
    indices: torch.Tensor


def note_margin(margins, ordered, k):
    """Counts ties at the edge of a choice, and keeps the smallest other gap there."""
    if k < ordered.shape[-1]:
        last, refused = ordered[..., k - 1], ordered[..., k]
        gap = (last - refused)[refused > -1e30]  # not the masked future or a masked group
        entry = margins.setdefault(f"{k} of {ordered.shape[-1]}",
                                   {"ties": 0, "smallest_other_gap": float("inf")})
        entry["ties"] += int((gap == 0).sum())
        entry["smallest_other_gap"] = min([entry["smallest_other_gap"], *gap[gap > 0].tolist()])


@contextlib.contextmanager
def choice_margins():
    """-> dict filled, while the context lasts, with what note_margin keeps per kind of top-k."""
    margins = {}
    _margins.append(margins)
    yield margins
    _margins.remove(margins)


def v2_router(self, hidden_states):
    """DeepseekV2TopkRouter.forward that honours norm_topk_prob."""
    logits, weights, indices = _plain_v2_router(self, hidden_states)
    if self.norm_topk_prob:
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
    return logits, weights, indices


def apply_global_patches():
    """Replaces the tie order of top-k and the V2 router for this process."""
    torch.topk = torch.Tensor.topk = ordered_topk
    v2.DeepseekV2TopkRouter.forward = v2_router


def patch_model(model):
    """Corrections that depend on the configuration."""
    config = model.config
    for name, module in model.named_modules():
        if name.endswith(("q_a_layernorm", "kv_a_layernorm")):
            module.variance_epsilon = config.rms_norm_eps
        if isinstance(module, v2.DeepseekV2TopkRouter):
            module.norm_topk_prob = config.norm_topk_prob and config.num_experts_per_tok > 1
            if module.norm_topk_prob:
                module.routed_scaling_factor = 1.0


def fuse_experts(weights):
    """Per-expert 2-D tensors -> the 3-D gate_up_proj and down_proj of these classes."""
    fused, parts = {}, {}
    for name, w in weights.items():
        match = re.fullmatch(r"(.*\.mlp\.experts)\.(\d+)\.(gate|up|down)_proj\.weight", name)
        if match:
            parts.setdefault(match[1], {})[int(match[2]), match[3]] = w
        else:
            fused[name] = w
    for base, p in parts.items():
        experts = range(1 + max(index for index, _ in p))
        gate_up = [torch.cat([p[e, "gate"], p[e, "up"]]) for e in experts]
        fused[base + ".gate_up_proj"] = torch.stack(gate_up)
        fused[base + ".down_proj"] = torch.stack([p[e, "down"] for e in experts])
    return fused


def without_mtp(weights, layers):
    """Drops the layers past the last one; these classes have no next-token-prediction layer."""
    def layer(name):
        match = re.match(r"model\.layers\.(\d+)\.", name)
        return int(match[1]) if match else -1
    return {name: w for name, w in weights.items() if layer(name) < layers}


def read_config(folder):
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        return json.load(f)


def build_config(raw):
    """The configuration object for a config.json, with the unquantised eager paths chosen."""
    config_class = CLASSES[raw["model_type"]].config_class
    dropped = ("quantization_config", "torch_dtype", "dtype")
    plain = {key: value for key, value in raw.items() if key not in dropped}
    config = config_class.from_dict({**plain, "model_type": config_class.model_type})
    theta = raw.get("rope_theta") or raw["rope_parameters"]["rope_theta"]
    assert config.rope_parameters["rope_theta"] == theta, config.rope_parameters
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    return config


def load_model(folder):
    """A checkpoint folder -> float32 model in evaluation mode; every tensor must find its place."""
    apply_global_patches()
    raw = read_config(folder)
    config = build_config(raw)
    model = CLASSES[raw["model_type"]](config).float().eval()
    weights = fuse_experts(without_mtp(load_float32(folder), config.num_hidden_layers))
    if config.tie_word_embeddings:
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    model.load_state_dict(weights, strict=True)
    patch_model(model)
    return model


def causal_selection(indices):
    """[T, k] chosen positions in any order -> ascending, future positions dropped, -1 padded."""
    positions = torch.arange(indices.shape[0])[:, None]
    end = indices.shape[0]
    chosen = torch.where(indices <= positions, indices.long(), end).sort(-1).values
    return torch.where(chosen == end, -1, chosen).int()


def record(model, store):
    """Installs hooks that fill `store`; returns their handles."""
    def on_layer(i):
        def hook(_module, _args, out):
            store.setdefault("hidden", {})[i] = (out[0] if isinstance(out, tuple) else out)[0]
        return hook

    def on_indexer(i):
        def hook(_module, _args, out):
            store[f"selection.{i}"] = causal_selection(out[0])
        return hook

    def on_router(i):
        def hook(_module, _args, out):
            experts, order = out[2].sort(-1)
            store[f"experts.{i}"] = experts.int()
            store[f"expert_weights.{i}"] = out[1].gather(-1, order)
        return hook

    handles = []
    for i, layer in enumerate(model.model.layers):
        handles.append(layer.register_forward_hook(on_layer(i)))
        if getattr(layer.self_attn, "indexer", None) is not None:
            handles.append(layer.self_attn.indexer.register_forward_hook(on_indexer(i)))
        if hasattr(layer.mlp, "gate"):
            handles.append(layer.mlp.gate.register_forward_hook(on_router(i)))
    return handles


@torch.no_grad()
def logits_of(model, ids):
    """[T, V] logits of one prompt, computed without a cache."""
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def run(model, ids):
    """-> dict of logits, hidden [L, T, h], and per layer selection, experts, expert_weights."""
    store = {}
    handles = record(model, store)
    logits = logits_of(model, ids)
    for handle in handles:
        handle.remove()
    layers = store.pop("hidden")
    hidden = torch.stack([layers[i] for i in sorted(layers)])
    ids = torch.tensor(ids, dtype=torch.int32)
    return {"ids": ids, "logits": logits, "hidden": hidden, **store}
