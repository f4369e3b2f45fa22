#!/usr/bin/env python3
"""Write tests/golden/checkpoint/official.safetensors with the safetensors package (needs torch too).

usage: make_checkpoint_golden.py OUT.safetensors

One small tensor of each type that checkpoints use, values 0, 1, 2, ... where the type allows.
"""
import sys

import torch
from safetensors.torch import save_file

tensors = {
    "model.norm.weight": torch.arange(6, dtype=torch.float32).to(torch.bfloat16),
    "half": torch.arange(3, dtype=torch.float16),
    "single": torch.arange(4, dtype=torch.float32).reshape(2, 2),
    "scalar": torch.tensor(0.5, dtype=torch.float32),
    "codes.weight_packed": torch.arange(6, dtype=torch.uint8).reshape(2, 3),
    "codes.weight_scale": torch.arange(4, dtype=torch.float32).reshape(2, 2).to(torch.float8_e4m3fn),
    "words": torch.arange(2, dtype=torch.int32),
    "codes.weight_shape": torch.tensor([2, 6], dtype=torch.int64),
    "flags": torch.tensor([True, False, True]),
}
save_file(tensors, sys.argv[1], metadata={"format": "pt"})
