"""Runs Hugging Face transformers as an oracle. The versions are in requirements.txt.

usage: hf_oracle.py compare BF16_DIR REFERENCE_DIR
       hf_oracle.py fixtures BF16_DIR PROMPTS_JSON OUT_DIR

compare: the small model, through every format that has a reference, against REFERENCE_DIR's
         prompts.json, FORMAT.json and FORMAT.safetensors; prints a table.
fixtures: rewrites the random small checkpoints with their expected outputs, and the references of
         the small model's remaining formats.
"""
import sys

import torch

import compare
import fixtures


def main(args):
    torch.set_num_threads(1)
    if args[:1] == ["compare"] and len(args) == 3:
        compare.compare(*args[1:])
    elif args[:1] == ["fixtures"] and len(args) == 4:
        fixtures.write_all(*args[1:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
