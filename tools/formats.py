"""Checkpoint encodings in plain numpy, and a safetensors writer.

Every encoder takes a float32 matrix and returns its stored arrays (codes first, then scales).
Codes are rounded to nearest even and clamped to the largest finite one, never NaN.
`python3 tools/formats.py` checks the tables and the rounding.
"""
import json
import struct

import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
E4M3_MAX = 448.0
DTYPE_BYTES = {"BF16": 2, "F32": 4, "U8": 1, "F8_E4M3": 1, "I32": 4, "I64": 8}


def _e4m3_table():
    """The 256 values of e4m3fn; codes 0x7F and 0xFF are NaN."""
    table = np.zeros(256, np.float32)
    for code in range(256):
        sign, exponent, mantissa = code >> 7, (code >> 3) & 15, code & 7
        if exponent == 15 and mantissa == 7:
            value = np.nan
        elif exponent == 0:
            value = mantissa * 2.0 ** -9
        else:
            value = (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        table[code] = -value if sign else value
    return table


E4M3 = _e4m3_table()
_MAGNITUDES = E4M3[:127].astype(np.float64)  # ascending, finite
_MIDPOINTS = (_MAGNITUDES[:-1] + _MAGNITUDES[1:]) / 2


def to_bf16(x):
    """float32 -> uint16 bf16 bits, round to nearest even."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    """uint16 bf16 bits -> float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_e4m3(x):
    """float32 -> uint8 e4m3fn, round to nearest even, saturating at 448."""
    x = np.asarray(x, np.float64)
    magnitude = np.minimum(np.abs(x), E4M3_MAX)
    code = np.searchsorted(_MIDPOINTS, magnitude, side="left")  # a midpoint goes down ...
    last = len(_MIDPOINTS) - 1
    tie = (code <= last) & (magnitude == _MIDPOINTS[np.minimum(code, last)])
    code = code + (tie & (code % 2 == 1))  # ... unless the lower code is odd
    return code.astype(np.uint8) | (np.signbit(x).astype(np.uint8) << 7)


def to_e2m1(x):
    """float32 -> 4-bit codes in uint8, round to nearest even, saturating at 6; no negative zero."""
    x = np.asarray(x, np.float64)
    a = np.abs(x)
    steps = [a <= 0.25, a < 0.75, a <= 1.25, a < 1.75, a <= 2.5, a < 3.5, a <= 5]
    code = np.select(steps, range(7), 7).astype(np.uint8)
    return code | ((x < 0).astype(np.uint8) << 3)


def pack_nibbles(codes):
    """[out, in] 4-bit codes -> [out, in/2] bytes, even column in the low nibble."""
    return (codes[:, 0::2] | (codes[:, 1::2] << 4)).astype(np.uint8)


def nvfp4(w):
    """-> packed [out, in/2] u8, block scales [out, in/16] e4m3 bytes, global scale float32."""
    rows, cols = w.shape
    scale_2 = np.float32(max(np.abs(w).max() / (6 * E4M3_MAX), 1e-12))
    blocks = w.reshape(rows, cols // 16, 16)
    scale = to_e4m3(np.clip(np.abs(blocks).max(-1) / 6 / scale_2, 2.0 ** -9, E4M3_MAX))
    codes = to_e2m1(blocks / (E4M3[scale][..., None] * scale_2))
    return pack_nibbles(codes.reshape(rows, cols)), scale, scale_2


def mxfp4(w):
    """-> packed [out, in/2] u8, block exponents [out, in/32] as e8m0 bytes."""
    rows, cols = w.shape
    blocks = w.reshape(rows, cols // 32, 32)
    floor_log2 = np.frexp(np.abs(blocks).max(-1))[1] - 1
    exponent = np.clip(floor_log2 - 2, -127, 127)
    codes = to_e2m1(np.ldexp(blocks, -exponent[..., None]))
    return pack_nibbles(codes.reshape(rows, cols)), (exponent + 127).astype(np.uint8)


def fp8_block(w, block=128, power_of_two=False):
    """-> e4m3 bytes [out, in], multipliers [ceil(out/block), ceil(in/block)] float32."""
    rows, cols = w.shape
    scales = np.zeros((-(-rows // block), -(-cols // block)), np.float32)
    codes = np.zeros((rows, cols), np.uint8)
    for r, c in np.ndindex(*scales.shape):
        tile = np.s_[r * block:(r + 1) * block, c * block:(c + 1) * block]
        scale = np.float32(max(np.abs(w[tile]).max(), 1e-4) / E4M3_MAX)
        if power_of_two:
            scale = np.float32(2.0 ** np.ceil(np.log2(scale)))
        scales[r, c] = scale
        codes[tile] = to_e4m3(w[tile] / scale)
    return codes, scales


def fp8_tensor(w):
    """-> e4m3 bytes [out, in], one multiplier float32."""
    scale = np.float32(max(np.abs(w).max(), 1e-12) / E4M3_MAX)
    return to_e4m3(w / scale), scale


def int4_group(w, group=32):
    """-> int32 words [out, in/8] of offset-binary nibbles, bf16 scales [out, in/group] as bits."""
    rows, cols = w.shape
    blocks = w.reshape(rows, cols // group, group)
    scale = to_bf16(np.maximum(np.abs(blocks).max(-1) / 7, 1e-8))
    codes = np.clip(np.rint(blocks / from_bf16(scale)[..., None]), -8, 7).astype(np.int64)
    nibbles = (codes + 8).reshape(rows, cols // 8, 8).astype(np.uint64)
    words = np.zeros((rows, cols // 8), np.uint64)
    for k in range(8):
        words |= nibbles[..., k] << np.uint64(4 * k)
    return words.astype(np.uint32).view(np.int32), scale


def load_safetensors(path):
    """-> {name: float32 array} of a file that holds only BF16 and F32 tensors."""
    with open(path, "rb") as f:
        data = f.read()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        is_bf16 = {"BF16": True, "F32": False}[entry["dtype"]]
        raw = np.frombuffer(data[begin:end], np.uint16 if is_bf16 else np.float32)
        raw = raw.reshape(entry["shape"])
        tensors[name] = from_bf16(raw) if is_bf16 else raw.copy()
    return tensors


def save_safetensors(path, tensors):
    """Writes a list of (name, dtype string, shape, bytes), in that order."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape, data in tensors:
        assert len(data) == DTYPE_BYTES[dtype] * int(np.prod(shape, dtype=np.int64)), name
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            f.write(tensor[3])


def self_check():
    """Asserts the code tables, saturation and the rounding of random values."""
    assert to_e4m3(np.array([448, 464, 465, 1e9])).tolist() == [126] * 4
    finite = [code for code in range(256) if code & 127 != 127]
    assert to_e4m3(E4M3[finite]).tolist() == finite
    assert to_e2m1(E2M1).tolist() == list(range(8))
    x = np.random.default_rng(0).normal(size=4096) * 10
    nearest = np.abs(_MAGNITUDES[None] - np.abs(x)[:, None]).min(1)
    assert np.allclose(np.abs(E4M3[to_e4m3(x)] - x), nearest)
    print("formats: ok")


if __name__ == "__main__":
    self_check()
