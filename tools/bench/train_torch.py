#!/usr/bin/env python3
"""How many tokens a second PyTorch trains a GPT-2 with on the CPU, in float32.

usage: train_torch.py MODEL_DIR --data FILE --batch N --sequence N
                      [--steps N] [--warmup N] [--threads N] [--mode eager|compile]
                      [--optimizer fused|foreach] [--seed N]

The model is written for PyTorch's best speed: fused attention, one packed
projection, a fused optimizer. FILE is read as bytes. Prints one JSON line;
tokens_per_s is from the median step after the warm-up, and a step is all of
it: drawing the batch, forward, backward, clipping and AdamW.
"""

import argparse
import json
import math
import pathlib
import statistics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, inner, eps):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width, eps)
        self.attn = nn.Linear(width, 3 * width)
        self.attn_out = nn.Linear(width, width)
        self.ln_2 = nn.LayerNorm(width, eps)
        self.fc = nn.Linear(width, inner)
        self.fc_out = nn.Linear(inner, width)

    def forward(self, x):
        b, s, h = x.shape
        qkv = self.attn(self.ln_1(x)).view(b, s, 3, self.heads, h // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_out(o.transpose(1, 2).reshape(b, s, h))
        return x + self.fc_out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, eps = config["n_embd"], config["layer_norm_epsilon"]
        inner = config["n_inner"] or 4 * width
        self.wte = nn.Embedding(config["vocab_size"], width)
        self.wpe = nn.Embedding(config["n_positions"], width)
        self.h = nn.ModuleList(Block(width, config["n_head"], inner, eps) for _ in range(config["n_layer"]))
        self.ln_f = nn.LayerNorm(width, eps)
        self.head = nn.Linear(width, config["vocab_size"], bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.wte.weight
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                residual = name.endswith("_out.weight")
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * config["n_layer"]) if residual else 0.02)
            elif name.endswith(".bias"):
                nn.init.zeros_(p)

    def forward(self, windows):
        tokens, labels = windows[:, :-1], windows[:, 1:]
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return F.cross_entropy(self.head(self.ln_f(x)).flatten(0, 1), labels.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=pathlib.Path, help="directory with a GPT-2 config.json")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sequence", type=int, required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--mode", choices=["eager", "compile"], default="eager")
    parser.add_argument("--optimizer", choices=["fused", "foreach"], default="fused")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)

    config = json.loads((args.model / "config.json").read_text())
    if config.get("model_type") != "gpt2" or config["activation_function"] != "gelu_new":
        parser.error(f"{args.model} is not a GPT-2 with gelu_new")
    model = GPT2(config)
    tokens = torch.frombuffer(bytearray(args.data.read_bytes()), dtype=torch.uint8).long()
    tokens = tokens[: len(tokens) * 9 // 10]
    if len(tokens) <= args.sequence or args.sequence > config["n_positions"]:
        parser.error("the data or the model's positions are shorter than the sequence")

    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    kind = {args.optimizer: True}
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, **kind)
    forward = torch.compile(model) if args.mode == "compile" else model

    seconds, losses = [], []
    for _ in range(args.warmup + args.steps):
        start = time.perf_counter()
        at = torch.randint(len(tokens) - args.sequence, (args.batch,))
        windows = torch.stack([tokens[i : i + args.sequence + 1] for i in at.tolist()])
        adamw.zero_grad(set_to_none=True)
        loss = forward(windows)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        adamw.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    measured = seconds[args.warmup :]
    median = statistics.median(measured)
    print(json.dumps({
        "tokens_per_s": round(args.batch * args.sequence / median, 1),
        "step_s": median,
        "step_s_min": min(measured),
        "step_s_max": max(measured),
        "parameters": sum(p.numel() for p in parameters),
        "batch": args.batch,
        "sequence": args.sequence,
        "steps": args.steps,
        "threads": args.threads,
        "mode": args.mode,
        "optimizer": args.optimizer,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
