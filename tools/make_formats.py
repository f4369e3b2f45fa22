"""Writes a BF16 checkpoint of the small model in the other supported formats.

usage: make_formats.py SRC_BF16_DIR OUT_ROOT [FORMAT...]

Writes OUT_ROOT/tiny-FORMAT, the same bytes every time. Needs numpy only. Without FORMAT, all of:
  nvfp4      ModelOpt NVFP4 in the routed experts
  nvfp4-ct   the same numbers as compressed-tensors NVFP4 (reciprocal global scale)
  fp8        FP8 128x128 blocks, fp32 scales, in the linears listed by `is_linear`
  fp8-ue8m0  the same with power-of-two scales (still stored as fp32)
  fp8-tensor ModelOpt FP8, one scale for each tensor, in the same linears
  int4       compressed-tensors INT4, group 32, in the routed experts
  mxfp4      compressed-tensors MXFP4 in the routed experts
"""
import json
import os
import shutil
import sys

import numpy as np

import formats as F

COPIED = ("generation_config.json", "tokenizer_config.json", "tokenizer.json",
          "chat_template.jinja")
NOT_LINEAR = ("embed_tokens", "lm_head", "gate.weight", "weights_proj", "eh_proj")
PRODUCER = {"name": "modelopt", "version": "0.47.0"}
ACTIVATION_AMAX = 8.0  # stands for a calibrated maximum of the experts' inputs
CT_EXPERTS_ONLY = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.gate$"]
CT_LINEAR_IGNORE = CT_EXPERTS_ONLY + ["re:model\\.layers\\.0\\.mlp.*"]


def load_checkpoint(folder):
    """-> {name: float32 array} over all shards, in file order."""
    tensors = {}
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".safetensors")):
        tensors.update(F.load_safetensors(os.path.join(folder, file)))
    return tensors


def is_expert(name, w):
    """Routed experts: what the 4-bit releases quantise."""
    return w.ndim == 2 and ".mlp.experts." in name


def is_linear(name, w):
    """All linears but embedding, head, router, weights_proj and eh_proj: what FP8 quantises."""
    return w.ndim == 2 and not any(part in name for part in NOT_LINEAR)


def f32(name, value, shape=()):
    """One stored float32 tensor."""
    return name, "F32", shape, np.asarray(value, np.float32).tobytes()


def stored(name, dtype, array):
    """One stored tensor of the given safetensors dtype."""
    return name, dtype, array.shape, array.tobytes()


def encode_nvfp4(base, w):
    codes, scale, scale_2 = F.nvfp4(w)
    return [stored(base + ".weight", "U8", codes),
            stored(base + ".weight_scale", "F8_E4M3", scale),
            f32(base + ".weight_scale_2", scale_2),
            f32(base + ".input_scale", ACTIVATION_AMAX / 2688)]


def encode_nvfp4_ct(base, w):
    codes, scale, scale_2 = F.nvfp4(w)
    return [stored(base + ".weight_packed", "U8", codes),
            stored(base + ".weight_scale", "F8_E4M3", scale),
            f32(base + ".weight_global_scale", np.float32(1.0 / scale_2), (1,)),
            f32(base + ".input_global_scale", 2688 / ACTIVATION_AMAX, (1,))]


def encode_fp8(base, w, power_of_two=False):
    codes, scale = F.fp8_block(w, power_of_two=power_of_two)
    return [stored(base + ".weight", "F8_E4M3", codes),
            stored(base + ".weight_scale_inv", "F32", scale)]


def encode_fp8_ue8m0(base, w):
    return encode_fp8(base, w, power_of_two=True)


def encode_fp8_tensor(base, w):
    codes, scale = F.fp8_tensor(w)
    return [stored(base + ".weight", "F8_E4M3", codes),
            f32(base + ".weight_scale", scale),
            f32(base + ".input_scale", ACTIVATION_AMAX / F.E4M3_MAX)]


def encode_int4(base, w):
    words, scale = F.int4_group(w)
    return [stored(base + ".weight_packed", "I32", words),
            stored(base + ".weight_scale", "BF16", scale),
            stored(base + ".weight_shape", "I64", np.array(w.shape, np.int64))]


def encode_mxfp4(base, w):
    codes, exponent = F.mxfp4(w)
    return [stored(base + ".weight_packed", "U8", codes),
            stored(base + ".weight_scale", "U8", exponent)]


def modelopt_config(algo, ignore, **scheme):
    """quantization_config as ModelOpt exports it."""
    return {"quant_method": "modelopt", "quant_algo": algo, "producer": PRODUCER,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": scheme,
                                          "input_activations": scheme}},
            "ignore": ignore}


def ct_config(fmt, targets, weights, activations, ignore):
    """quantization_config as compressed-tensors writes it."""
    return {"quant_method": "compressed-tensors", "format": fmt,
            "quantization_status": "compressed",
            "config_groups": {"group_0": {"targets": targets, "weights": weights,
                                          "input_activations": activations}},
            "ignore": ignore}


def fp8_config(**extra):
    """quantization_config of the FP8 block releases."""
    return {"quant_method": "fp8", "fmt": "e4m3", **extra, "activation_scheme": "dynamic",
            "weight_block_size": [128, 128],
            "modules_to_not_convert": ["model.embed_tokens", "lm_head"]}


def four_bit(kind, strategy, group):
    """The weight scheme of a symmetric 4-bit compressed-tensors format."""
    return {"num_bits": 4, "type": kind, "strategy": strategy, "group_size": group,
            "symmetric": True, "dynamic": False}


NVFP4_SCHEME = four_bit("float", "tensor_group", 16)
FORMATS = {  # name: (encoder, which tensors, quantization_config)
    "nvfp4": (encode_nvfp4, is_expert, modelopt_config(
        "NVFP4", ["lm_head", "model.embed_tokens", "*.self_attn.*", "*.mlp.gate",
                  "*.shared_experts.*", "model.layers.0.mlp.*", "*.eh_proj"],
        num_bits=4, type="float", group_size=16, dynamic=False)),
    "nvfp4-ct": (encode_nvfp4_ct, is_expert, ct_config(
        "nvfp4-pack-quantized", ["re:.*mlp\\.experts\\..*"], NVFP4_SCHEME,
        {**NVFP4_SCHEME, "dynamic": "local"}, CT_EXPERTS_ONLY)),
    "fp8": (encode_fp8, is_linear, fp8_config()),
    "fp8-ue8m0": (encode_fp8_ue8m0, is_linear, fp8_config(scale_fmt="ue8m0")),
    "fp8-tensor": (encode_fp8_tensor, is_linear, modelopt_config(
        "FP8", ["lm_head", "model.embed_tokens", "*.mlp.gate", "*.indexer.weights_proj",
                "*.eh_proj"],
        num_bits=8, type="float", dynamic=False)),
    "int4": (encode_int4, is_expert, ct_config(
        "pack-quantized", ["Linear"], four_bit("int", "group", 32), None, CT_LINEAR_IGNORE)),
    "mxfp4": (encode_mxfp4, is_expert, ct_config(
        "mxfp4-pack-quantized", ["Linear"], four_bit("float", "group", 32), None,
        CT_LINEAR_IGNORE)),
}


def encode_checkpoint(weights, fmt):
    """-> list of stored tensors, sorted by name."""
    encoder, selected, _ = FORMATS[fmt]
    tensors = []
    for name, w in weights.items():
        if name.endswith("e_score_correction_bias"):
            tensors.append(f32(name, w, w.shape))
        elif selected(name, w):
            tensors += encoder(name.removesuffix(".weight"), w)
        else:
            tensors.append(stored(name, "BF16", F.to_bf16(w)))
    return sorted(tensors, key=lambda tensor: tensor[0])


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=1)


def hf_quant_config(quant):
    """The older ModelOpt side file that says the same as quantization_config."""
    quantization = {"quant_algo": quant["quant_algo"], "kv_cache_quant_algo": None}
    group_size = quant["config_groups"]["group_0"]["weights"].get("group_size")
    if group_size:
        quantization["group_size"] = group_size
    quantization["exclude_modules"] = quant["ignore"]
    return {"producer": quant["producer"], "quantization": quantization}


def write_format(source, out, weights, fmt):
    """Writes one complete model folder."""
    quant = FORMATS[fmt][2]
    os.makedirs(out, exist_ok=True)
    F.save_safetensors(os.path.join(out, "model.safetensors"), encode_checkpoint(weights, fmt))
    with open(os.path.join(source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    write_json(os.path.join(out, "config.json"), {**config, "quantization_config": quant})
    if quant["quant_method"] == "modelopt":
        write_json(os.path.join(out, "hf_quant_config.json"), hf_quant_config(quant))
    for file in COPIED:
        shutil.copyfile(os.path.join(source, file), os.path.join(out, file))


def main(args):
    if len(args) < 2 or any(fmt not in FORMATS for fmt in args[2:]):
        sys.exit(__doc__)
    source, root = args[:2]
    weights = load_checkpoint(source)
    for fmt in args[2:] or FORMATS:
        out = os.path.join(root, "tiny-" + fmt)
        write_format(source, out, weights, fmt)
        print(out)


if __name__ == "__main__":
    main(sys.argv[1:])
