"""Reads a checkpoint folder of any supported format into float32 tensors, with torch alone.

Shares no code with the format writer: e4m3 is decoded by torch's own float8 type, and the scale
conventions are written out again, so that a mistake in one side shows as a difference.
"""
import glob
import os

import torch
from safetensors.torch import load_file

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
SCALE_SUFFIXES = (".weight_scale", ".weight_scale_2", ".weight_scale_inv", ".weight_global_scale",
                  ".input_scale", ".input_global_scale", ".weight_shape")


def unpack_e2m1(packed):
    """[out, in/2] bytes -> [out, in] values; the low nibble is the even column."""
    low, high = packed & 15, packed >> 4
    return E2M1[torch.stack([low, high], -1).flatten(1).long()]


def unpack_int4(words):
    """[out, in/8] int32 -> [out, in] values in -8..7; lowest nibble first."""
    shifts = torch.arange(0, 32, 4)
    nibbles = (words[..., None].long() >> shifts) & 15
    return (nibbles - 8).flatten(1).float()


def spread(scale, values):
    """Repeats each column scale over its group of columns."""
    return scale.repeat_interleave(values.shape[1] // scale.shape[1], 1)


def spread_blocks(scale, values, block=128):
    """Repeats each scale over its block of rows and columns; the last blocks may be partial."""
    full = scale.repeat_interleave(block, 0).repeat_interleave(block, 1)
    return full[:values.shape[0], :values.shape[1]]


def dequantise_packed(raw, base):
    """compressed-tensors `weight_packed`: INT4, NVFP4 or MXFP4, told apart by dtype and scale."""
    packed, scale = raw[base + ".weight_packed"], raw[base + ".weight_scale"]
    if packed.dtype == torch.int32:
        values = unpack_int4(packed)
        assert list(values.shape) == raw[base + ".weight_shape"].tolist()
        return values * spread(scale.float(), values)
    values = unpack_e2m1(packed)
    if scale.dtype == torch.uint8:  # e8m0
        return values * torch.exp2(spread(scale.float() - 127, values))
    return values * spread(scale.float(), values) / raw[base + ".weight_global_scale"].float()


def dequantise_plain(raw, base):
    """`weight` with or without scales: NVFP4, FP8 by block or by tensor, or a plain float."""
    weight = raw[base + ".weight"]
    if weight.dtype == torch.uint8:
        values = unpack_e2m1(weight)
        scale = spread(raw[base + ".weight_scale"].float(), values)
        return values * scale * raw[base + ".weight_scale_2"].float()
    if base + ".weight_scale_inv" in raw:
        return weight.float() * spread_blocks(raw[base + ".weight_scale_inv"], weight)
    if weight.dtype == torch.float8_e4m3fn:
        return weight.float() * raw[base + ".weight_scale"].float()
    return weight.float()


def load_float32(folder):
    """-> {checkpoint name: float32 tensor}, with scales folded in and packed names restored."""
    raw = {}
    for file in sorted(glob.glob(os.path.join(folder, "model*.safetensors"))):
        raw.update(load_file(file))
    weights = {}
    for name in raw:
        if name.endswith(".weight_packed"):
            base = name.removesuffix(".weight_packed")
            weights[base + ".weight"] = dequantise_packed(raw, base)
        elif name.endswith(".weight"):
            weights[name] = dequantise_plain(raw, name.removesuffix(".weight"))
        elif not name.endswith(SCALE_SUFFIXES):
            weights[name] = raw[name].float()
    return weights
