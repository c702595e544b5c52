#!/usr/bin/env python3
"""Trains examples/gpt2-tiny on the King James text in PyTorch, in float32.

usage: train_text.py TEXT [--out CSV] [--steps N] [--seed N] [--save DIR]

TEXT comes from tools/kjv.sh. Writes `step,train,validation`: the loss of the
batch at that step and the loss over the whole last tenth of the text (empty
where it was not evaluated), both before the step's update. The curve is what
Hocket's own run of this job is compared with; see docs/golden.md.
"""

import argparse
import math
import pathlib
import time

import torch
import transformers
from safetensors.torch import save_file

import reference

HERE = pathlib.Path(__file__).resolve().parent
CONFIG = HERE.parent.parent / "examples" / "gpt2-tiny" / "config.json"
SEQUENCE, BATCH, EVERY = 128, 16, 50
OPTIMIZER = {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "decay": 0.1, "clip": 1.0}


def initial_weights(config, generator):
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    weights = {}
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2:
            residual = name.endswith("c_proj.weight")
            std = 0.02 / math.sqrt(2 * config.n_layer) if residual else 0.02
            weights[name] = torch.randn(parameter.shape, generator=generator) * std
        else:
            weights[name] = torch.zeros(parameter.shape) if name.endswith(".bias") else torch.ones(parameter.shape)
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "text_curve.csv")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=pathlib.Path, help="directory for model.safetensors and config.json")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    config = transformers.AutoConfig.from_pretrained(CONFIG.parent)
    generator = torch.Generator().manual_seed(args.seed)
    model = reference.load(config, initial_weights(config, generator), torch.float32, exact=False)
    named = dict(model.named_parameters())
    print(f"{sum(p.numel() for p in named.values()):,} parameters")
    tokens = torch.frombuffer(bytearray(args.text.read_bytes()), dtype=torch.uint8).long()
    training, validation = reference.split(tokens)
    print(f"{len(training):,} training bytes, {len(validation):,} validation bytes")

    adamw = reference.AdamW(named.values(), OPTIMIZER)
    rows, start, trained = ["step,train,validation"], time.monotonic(), 0.0
    for step in range(args.steps + 1):
        score = ""
        if step % EVERY == 0 or step == args.steps:
            score = f"{reference.evaluate(model, validation, SEQUENCE, 64):.6f}"
        before = time.monotonic()
        at = torch.randint(len(training) - SEQUENCE, (BATCH,), generator=generator)
        batch = torch.stack([training[i : i + SEQUENCE + 1] for i in at.tolist()])
        model.zero_grad()
        loss = reference.loss_of(model, batch)
        rows.append(f"{step},{loss.item():.6f},{score}")
        if score:
            print(f"step {step:4}  train {loss.item():.4f}  validation {score}  {time.monotonic() - start:.0f} s", flush=True)
        if step < args.steps:
            loss.backward()
            adamw.step()
            trained += time.monotonic() - before
    args.out.write_text("\n".join(rows) + "\n")
    print(f"{args.steps * BATCH * SEQUENCE / trained:,.0f} tokens/s without evaluation")
    if args.save:
        args.save.mkdir(parents=True, exist_ok=True)
        save_file({n: p.detach().contiguous() for n, p in named.items()}, args.save / "model.safetensors", {"format": "pt"})
        (args.save / "config.json").write_text(CONFIG.read_text())


if __name__ == "__main__":
    main()
