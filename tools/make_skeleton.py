#!/usr/bin/env python3
"""Write a full-size GLM-5.2 checkpoint without its data: every tensor header of every shard, in sparse files.

usage: make_skeleton.py OUT [--format fp8|bf16|nvfp4]

The directory has config.json, generation_config.json, model.safetensors.index.json and the shards. Files have
their real length (756 GB for fp8) and occupy only their headers; all weights read as zero. Only scalars that a
loader checks on opening (NVFP4 global and input scales) are written. fp8 is the inventory of GLM-5.2-FP8, whose
tensor count, 118,629, is that of the published index. Standard library only.
"""
import argparse
import json
import math
import os
import struct

LAYERS, DENSE, EXPERTS, NEXTN = 78, 3, 256, 1
HIDDEN, VOCAB, HEADS = 6144, 154880, 64
Q_LORA, KV_LORA, NOPE, ROPE, V_DIM = 2048, 512, 192, 64, 256
INTER, MOE_INTER = 12288, 2048
INDEX_HEADS, INDEX_DIM, INDEX_FREQ, INDEX_OFFSET = 32, 128, 4, 3

BYTES = {"BF16": 2, "F32": 4, "U8": 1, "F8_E4M3": 1}
SHARD_BYTES = 5_368_709_120
SCALE_2, INPUT_SCALE = 1e-4, 8.0 / 2688


def owns_indexer(layer):
    return layer >= LAYERS or max(layer - INDEX_OFFSET + 1, 0) % INDEX_FREQ == 0


def linear(name, rows, cols, fmt):
    """The tensors of one matrix: (name, dtype, shape)."""
    weight = name + ".weight"
    if fmt == "fp8":
        scale = [math.ceil(rows / 128), math.ceil(cols / 128)]
        return [(weight, "F8_E4M3", [rows, cols]), (name + ".weight_scale_inv", "F32", scale)]
    if fmt == "nvfp4":
        return [(weight, "U8", [rows, cols // 2]), (name + ".weight_scale", "F8_E4M3", [rows, cols // 16]),
                (name + ".weight_scale_2", "F32", []), (name + ".input_scale", "F32", [])]
    return [(weight, "BF16", [rows, cols])]


def bf16(name, *shape):
    return [(name, "BF16", list(shape))]


def attention(prefix, layer, fmt):
    fp8 = "fp8" if fmt == "fp8" else "bf16"
    p = prefix + "self_attn."
    out = linear(p + "q_a_proj", Q_LORA, HIDDEN, fp8)
    out += linear(p + "q_b_proj", HEADS * (NOPE + ROPE), Q_LORA, fp8)
    out += linear(p + "kv_a_proj_with_mqa", KV_LORA + ROPE, HIDDEN, fp8)
    out += linear(p + "kv_b_proj", HEADS * (NOPE + V_DIM), KV_LORA, fp8)
    out += linear(p + "o_proj", HIDDEN, HEADS * V_DIM, fp8)
    out += bf16(p + "q_a_layernorm.weight", Q_LORA) + bf16(p + "kv_a_layernorm.weight", KV_LORA)
    if owns_indexer(layer):
        i = p + "indexer."
        out += linear(i + "wq_b", INDEX_HEADS * INDEX_DIM, Q_LORA, fp8)
        out += linear(i + "wk", INDEX_DIM, HIDDEN, fp8)
        out += bf16(i + "weights_proj.weight", INDEX_HEADS, HIDDEN)
        out += bf16(i + "k_norm.weight", INDEX_DIM) + bf16(i + "k_norm.bias", INDEX_DIM)
    return out


def mlp(prefix, inter, fmt):
    return (linear(prefix + "gate_proj", inter, HIDDEN, fmt) + linear(prefix + "up_proj", inter, HIDDEN, fmt)
            + linear(prefix + "down_proj", HIDDEN, inter, fmt))


def layer_tensors(layer, fmt):
    p = f"model.layers.{layer}."
    fp8 = "fp8" if fmt == "fp8" else "bf16"
    out = attention(p, layer, fmt)
    out += bf16(p + "input_layernorm.weight", HIDDEN) + bf16(p + "post_attention_layernorm.weight", HIDDEN)
    if layer < DENSE:
        return out + mlp(p + "mlp.", INTER, fp8)
    out += bf16(p + "mlp.gate.weight", EXPERTS, HIDDEN)
    out += [(p + "mlp.gate.e_score_correction_bias", "F32", [EXPERTS])]
    out += mlp(p + "mlp.shared_experts.", MOE_INTER, fp8)
    for e in range(EXPERTS):
        out += mlp(f"{p}mlp.experts.{e}.", MOE_INTER, fmt)
    if layer >= LAYERS:
        out += bf16(p + "eh_proj.weight", HIDDEN, 2 * HIDDEN)
        for norm in ("enorm", "hnorm", "shared_head.norm"):
            out += bf16(f"{p}{norm}.weight", HIDDEN)
    return out


def all_tensors(fmt):
    out = bf16("model.embed_tokens.weight", VOCAB, HIDDEN)
    for layer in range(LAYERS + NEXTN):
        out += layer_tensors(layer, fmt)
    return out + bf16("model.norm.weight", HIDDEN) + bf16("lm_head.weight", VOCAB, HIDDEN)


def size(tensor):
    return BYTES[tensor[1]] * math.prod(tensor[2])


def shards_of(tensors):
    out, used = [[]], 0
    for tensor in tensors:
        if out[-1] and used + size(tensor) > SHARD_BYTES:
            out.append([])
            used = 0
        out[-1].append(tensor)
        used += size(tensor)
    # The order of the reference writer: wide types first, then names. It keeps scalars together.
    return [sorted(shard, key=lambda t: (-BYTES[t[1]], t[0])) for shard in out]


def write_shard(path, tensors):
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    scalars = []
    for name, dtype, shape in tensors:
        end = offset + BYTES[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
        if not shape:
            scalars.append((offset, INPUT_SCALE if name.endswith("input_scale") else SCALE_2))
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + offset)
        for at, value in scalars:
            f.seek(8 + len(text) + at)
            f.write(struct.pack("<f", value))
    return offset


def quantization_config(fmt):
    if fmt == "fp8":
        return {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                "modules_to_not_convert": ["model.embed_tokens", "lm_head"]}
    weights = {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": False}
    return {"quant_method": "modelopt", "quant_algo": "NVFP4", "producer": {"name": "modelopt", "version": "0.47.0"},
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": weights}},
            "ignore": ["lm_head", "*.self_attn.*", "*.mlp.gate", "*.shared_experts.*"]}


def config(fmt):
    out = {
        "architectures": ["GlmMoeDsaForCausalLM"], "model_type": "glm_moe_dsa", "dtype": "bfloat16",
        "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "vocab_size": VOCAB,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "q_lora_rank": Q_LORA, "kv_lora_rank": KV_LORA, "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE,
        "qk_head_dim": NOPE + ROPE, "v_head_dim": V_DIM, "head_dim": 192,
        "intermediate_size": INTER, "moe_intermediate_size": MOE_INTER, "hidden_act": "silu",
        "n_routed_experts": EXPERTS, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc", "scoring_func": "sigmoid",
        "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "first_k_dense_replace": DENSE, "moe_layer_freq": 1,
        "mlp_layer_types": ["dense"] * DENSE + ["sparse"] * (LAYERS - DENSE),
        "rms_norm_eps": 1e-05, "attention_bias": False, "attention_dropout": 0.0,
        "index_n_heads": INDEX_HEADS, "index_head_dim": INDEX_DIM, "index_topk": 2048,
        "indexer_types": ["full" if owns_indexer(i) else "shared" for i in range(LAYERS)],
        "index_topk_freq": INDEX_FREQ, "index_skip_topk_offset": INDEX_OFFSET,
        "index_topk_pattern": None, "index_share_for_mtp_iteration": True,
        "indexer_rope_interleave": True, "rope_interleave": True,
        "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"},
        "max_position_embeddings": 1048576, "num_nextn_predict_layers": NEXTN,
        "eos_token_id": [154820, 154827, 154829], "pad_token_id": 154820,
        "tie_word_embeddings": False, "use_cache": True, "initializer_range": 0.02,
        "pretraining_tp": 1, "ep_size": 1, "transformers_version": "5.12.0",
    }
    if fmt != "bf16":
        out["quantization_config"] = quantization_config(fmt)
    return out


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--format", choices=("fp8", "bf16", "nvfp4"), default="fp8")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    shards = shards_of(all_tensors(args.format))
    weight_map, total = {}, 0
    for i, tensors in enumerate(shards):
        name = f"model-{i + 1:05d}-of-{len(shards):05d}.safetensors"
        total += write_shard(os.path.join(args.out, name), tensors)
        weight_map.update((t[0], name) for t in tensors)
    write_json(os.path.join(args.out, "model.safetensors.index.json"),
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))})
    write_json(os.path.join(args.out, "config.json"), config(args.format))
    write_json(os.path.join(args.out, "generation_config.json"),
               {"do_sample": True, "temperature": 1.0, "top_p": 0.95, "eos_token_id": [154820, 154827, 154829],
                "pad_token_id": 154820})
    print(f"{len(weight_map)} tensors, {len(shards)} shards, {total} bytes")


if __name__ == "__main__":
    main()
