"""The random small checkpoints: configurations in the released (old) shape, and their weights."""
import json
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import formats  # noqa: E402  (the writer lives one folder up)

PROMPT_TOKENS = 40
BASE = {
    "hidden_size": 64, "intermediate_size": 96, "moe_intermediate_size": 16,
    "num_hidden_layers": 3, "vocab_size": 128, "num_attention_heads": 4, "num_key_value_heads": 4,
    "q_lora_rank": 32, "kv_lora_rank": 32,
    "qk_nope_head_dim": 24, "qk_rope_head_dim": 16, "v_head_dim": 16,
    "n_routed_experts": 16, "num_experts_per_tok": 4, "n_shared_experts": 1,
    "first_k_dense_replace": 1, "moe_layer_freq": 1,
    "hidden_act": "silu", "attention_bias": False, "attention_dropout": 0.0,
    "rms_norm_eps": 1e-6, "rope_theta": 10000, "max_position_embeddings": 2048,
    "num_nextn_predict_layers": 0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "initializer_range": 0.02, "pretraining_tp": 1, "ep_size": 1, "use_cache": True,
    "bos_token_id": 0, "eos_token_id": 1, "transformers_version": "4.44.2",
}
SIGMOID = {"scoring_func": "sigmoid", "topk_method": "noaux_tc", "norm_topk_prob": True,
           "routed_scaling_factor": 2.5, "n_group": 4, "topk_group": 2}


def yarn(factor, mscale, mscale_all_dim, **changes):
    """rope_scaling as DeepSeek writes it, with a short original length so the ramp is crossed."""
    return {"type": "yarn", "factor": factor, "original_max_position_embeddings": 256,
            "beta_fast": 32, "beta_slow": 1, "mscale": mscale, "mscale_all_dim": mscale_all_dim,
            **changes}


def family(seed, bias_mean, architecture, model_type, **config):
    """One fixture: seed of its weights, mean of its router bias, and its config.json."""
    return {"seed": seed, "bias_mean": bias_mean,
            "config": {"architectures": [architecture], "model_type": model_type,
                       **BASE, **config}}


FAMILIES = {
    # Sparse attention with half-split indexer RoPE, YaRN, expert groups. 8 of 40 positions are
    # chosen, and with two indexer heads ReLU often leaves exact ties at the edge of the choice.
    "deepseek_v32": family(
        1, 0.0, "DeepseekV32ForCausalLM", "deepseek_v32", **SIGMOID,
        index_n_heads=2, index_head_dim=32, index_topk=8, rope_scaling=yarn(8, 1.0, 1.0)),
    # Every biased score is negative (masked groups must be -inf, not 0); mscale differs from
    # mscale_all_dim (cos and sin are scaled); an eps large enough to show where it applies.
    "deepseek_v3": family(
        2, -1.5, "DeepseekV3ForCausalLM", "deepseek_v3", **SIGMOID, rms_norm_eps=1e-3,
        rope_scaling=yarn(8, 0.707, 1.0)),
    # No groups, another theta, other YaRN bounds, scaling 2.827.
    "kimi_k2": family(
        3, 0.0, "DeepseekV3ForCausalLM", "kimi_k2",
        **{**SIGMOID, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 2.827},
        rms_norm_eps=1e-5, rope_theta=50000.0, max_position_embeddings=4096,
        rope_scaling=yarn(16, 1.0, 1.0, beta_fast=16, beta_slow=2)),
    # Softmax router limited to groups, two shared experts, weights not normalised, no bias.
    "deepseek_v2": family(
        4, None, "DeepseekV2ForCausalLM", "deepseek_v2", scoring_func="softmax",
        topk_method="group_limited_greedy", norm_topk_prob=False, routed_scaling_factor=4.0,
        n_group=4, topk_group=2, n_shared_experts=2, rope_scaling=yarn(8, 0.707, 0.707)),
    # As V2-Lite: no q_lora, greedy; tied embeddings and no rope scaling besides.
    "deepseek_v2_lite": family(
        5, None, "DeepseekV2ForCausalLM", "deepseek_v2", scoring_func="softmax",
        topk_method="greedy", norm_topk_prob=False, routed_scaling_factor=1.0, n_group=1,
        topk_group=1, n_shared_experts=2, q_lora_rank=None, rope_scaling=None,
        tie_word_embeddings=True),
    # V2 with normalised weights: then the scaling factor must not be applied.
    "deepseek_v2_norm": family(
        6, None, "DeepseekV2ForCausalLM", "deepseek_v2", scoring_func="softmax",
        topk_method="greedy", norm_topk_prob=True, routed_scaling_factor=3.0, n_group=1,
        topk_group=1, q_lora_rank=None, rope_scaling=None, num_hidden_layers=2),
    # FP8 128x128 blocks, most of them partial; heads of kv_b_proj straddle the blocks.
    "deepseek_v3_fp8": family(
        7, 0.0, "DeepseekV3ForCausalLM", "deepseek_v3",
        **{**SIGMOID, "n_group": 2, "topk_group": 1}, hidden_size=160, intermediate_size=200,
        moe_intermediate_size=40, n_routed_experts=6, num_experts_per_tok=2, q_lora_rank=136,
        kv_lora_rank=144, num_hidden_layers=2, rope_scaling=yarn(8, 1.0, 1.0),
        quantization_config={"quant_method": "fp8", "fmt": "e4m3",
                             "activation_scheme": "dynamic", "weight_block_size": [128, 128]}),
}


class Weights:
    """Draws the tensors of one checkpoint in a fixed order from one seed."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.tensors = {}

    def normal(self, shape, std):
        return (self.rng.normal(size=shape) * std).astype(np.float32)

    def linear(self, name, rows, cols, gain=1.0):
        self.tensors[name + ".weight"] = self.normal((rows, cols), gain / math.sqrt(cols))

    def norm(self, name, size):
        self.tensors[name + ".weight"] = 1 + self.normal(size, 0.2)

    def mlp(self, name, hidden, size):
        self.linear(name + ".gate_proj", size, hidden, 1.5)
        self.linear(name + ".up_proj", size, hidden)
        self.linear(name + ".down_proj", hidden, size)

    def attention(self, name, c):
        h, heads = c["hidden_size"], c["num_attention_heads"]
        query = heads * (c["qk_nope_head_dim"] + c["qk_rope_head_dim"])
        if c["q_lora_rank"] is None:
            self.linear(name + ".q_proj", query, h, 1.5)
        else:
            self.linear(name + ".q_a_proj", c["q_lora_rank"], h)
            self.norm(name + ".q_a_layernorm", c["q_lora_rank"])
            self.linear(name + ".q_b_proj", query, c["q_lora_rank"], 1.5)
        self.linear(name + ".kv_a_proj_with_mqa", c["kv_lora_rank"] + c["qk_rope_head_dim"], h)
        self.norm(name + ".kv_a_layernorm", c["kv_lora_rank"])
        self.linear(name + ".kv_b_proj", heads * (c["qk_nope_head_dim"] + c["v_head_dim"]),
                    c["kv_lora_rank"])
        self.linear(name + ".o_proj", h, heads * c["v_head_dim"])

    def indexer(self, name, c):
        heads, size = c["index_n_heads"], c["index_head_dim"]
        self.linear(name + ".wq_b", heads * size, c["q_lora_rank"])
        self.linear(name + ".wk", size, c["hidden_size"])
        self.norm(name + ".k_norm", size)
        self.tensors[name + ".k_norm.bias"] = self.normal(size, 0.2)
        self.linear(name + ".weights_proj", heads, c["hidden_size"])

    def moe(self, name, c, bias_mean):
        h, size, count = c["hidden_size"], c["moe_intermediate_size"], c["n_routed_experts"]
        self.linear(name + ".gate", count, h)
        if bias_mean is not None:
            bias = bias_mean + self.normal(count, 0.3)
            self.tensors[name + ".gate.e_score_correction_bias"] = bias
        for e in range(count):
            self.mlp(f"{name}.experts.{e}", h, size)
        self.mlp(name + ".shared_experts", h, size * c["n_shared_experts"])

    def layer(self, i, c, bias_mean):
        name = f"model.layers.{i}"
        self.norm(name + ".input_layernorm", c["hidden_size"])
        self.attention(name + ".self_attn", c)
        if "index_topk" in c:
            self.indexer(name + ".self_attn.indexer", c)
        self.norm(name + ".post_attention_layernorm", c["hidden_size"])
        if i < c["first_k_dense_replace"]:
            self.mlp(name + ".mlp", c["hidden_size"], c["intermediate_size"])
        else:
            self.moe(name + ".mlp", c, bias_mean)


def make_weights(spec):
    """-> {checkpoint name: float32 array}."""
    c, weights = spec["config"], Weights(spec["seed"])
    weights.tensors["model.embed_tokens.weight"] = weights.normal(
        (c["vocab_size"], c["hidden_size"]), 1.0)
    for i in range(c["num_hidden_layers"]):
        weights.layer(i, c, spec["bias_mean"])
    weights.norm("model.norm", c["hidden_size"])
    if not c["tie_word_embeddings"]:
        weights.linear("lm_head", c["vocab_size"], c["hidden_size"], 3.0)
    return weights.tensors


def make_prompt(spec):
    """-> PROMPT_TOKENS random ids."""
    rng = np.random.default_rng(1000 + spec["seed"])
    return rng.integers(0, spec["config"]["vocab_size"], PROMPT_TOKENS).tolist()


def is_fp8(name, w):
    """What the FP8 block releases store in e4m3."""
    return w.ndim == 2 and not any(x in name for x in ("embed_tokens", "lm_head", "gate.weight"))


def encode(name, w, fp8):
    """-> the stored tensors of one weight: FP8 blocks, fp32 for router bias and k_norm, or bf16."""
    if "e_score_correction_bias" in name or ".k_norm." in name:
        return [(name, "F32", w.shape, w.tobytes())]
    if fp8 and is_fp8(name, w):
        codes, scale = formats.fp8_block(w)
        return [(name, "F8_E4M3", codes.shape, codes.tobytes()),
                (name + "_scale_inv", "F32", scale.shape, scale.tobytes())]
    return [(name, "BF16", w.shape, formats.to_bf16(w).tobytes())]


def spread_magnitudes(name, w):
    """Scales the 64x64 tiles of a weight by 1/2, 1 or 2, so that block scales differ."""
    rng = np.random.default_rng(len(name))
    rows, cols = (-(-size // 64) for size in w.shape)
    power = rng.integers(-1, 2, (rows, cols)).repeat(64, 0).repeat(64, 1)
    return np.ldexp(w, power[:w.shape[0], :w.shape[1]])


def write_checkpoint(folder, spec):
    """Writes config.json and model.safetensors."""
    os.makedirs(folder, exist_ok=True)
    fp8 = "quantization_config" in spec["config"]
    tensors = []
    for name, w in make_weights(spec).items():
        if fp8 and is_fp8(name, w):
            w = spread_magnitudes(name, w)
        tensors += encode(name, w, fp8)
    tensors.sort(key=lambda tensor: tensor[0])
    formats.save_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
        json.dump(spec["config"], f, indent=1)
        f.write("\n")
