#!/usr/bin/env python3
"""Loads weights that Hocket saved into transformers and evaluates them.

usage: check_saved.py DIR TEXT [--sequence N] [--config FILE] [--expect LOSS --within E]

DIR holds model.safetensors and config.json (or --config names one). Prints the
mean loss over the last tenth of TEXT (bytes) in float64, in windows of
sequence + 1 tokens at stride sequence: what `hocket run` prints at its end.
Exit: 0, or 1 if --expect is given and the loss is further away than --within.
"""

import argparse
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file

import reference


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--sequence", type=int, default=128)
    parser.add_argument("--config", type=pathlib.Path)
    parser.add_argument("--expect", type=float)
    parser.add_argument("--within", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    config = transformers.AutoConfig.from_pretrained(args.config or args.dir / "config.json")
    model = reference.load(config, load_file(args.dir / "model.safetensors"))
    tokens = torch.frombuffer(bytearray(args.text.read_bytes()), dtype=torch.uint8).long()
    if tokens.max() >= config.vocab_size:
        raise SystemExit(f"byte {tokens.max()} is beyond the vocabulary of {config.vocab_size}")
    tail = reference.split(tokens)[1]
    loss = reference.evaluate(model, tail, args.sequence, 32)
    print(f"{len(tail)} bytes in windows of {args.sequence}: validation loss {loss:.6f}")
    if args.expect is not None and not abs(loss - args.expect) <= args.within:
        print(f"expected {args.expect:.6f} within {args.within:g}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
