#!/usr/bin/env python3
"""Writes the golden values: test/golden/{gpt2,llama,llama-rope}/.

usage: generate.py [--check]      (see docs/golden.md)

Each directory holds a model, a job and data, and what ten training steps must
give: the losses, the gradients of the first batch (before clipping), and the
weights after 1, 2 and 10 steps, all in float64. `--check` recomputes and
compares with the committed files instead of writing.
"""

import argparse
import json
import pathlib
import sys
import tomllib

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

import reference

HERE = pathlib.Path(__file__).resolve().parent
SEQUENCE, BATCH, STEPS = 32, 4, 10
TEXT = HERE.parent / "data" / "kjv-256k.txt"
TEXT_BYTES = 2048  # 1,843 train: 57 windows, 40 are used; 205 validate: 6 windows

GPT2 = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.0,
    "bos_token_id": 0,
    "embd_pdrop": 0.0,
    "eos_token_id": 0,
    "initializer_range": 0.02,
    "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2",
    "n_embd": 64,
    "n_head": 8,
    "n_inner": None,
    "n_layer": 4,
    "n_positions": 32,
    "reorder_and_upcast_attn": False,
    "resid_pdrop": 0.0,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "tie_word_embeddings": True,
    "vocab_size": 256,
}
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "attention_bias": False,
    "attention_dropout": 0.0,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 128,
    "max_position_embeddings": 32,
    "mlp_bias": False,
    "model_type": "llama",
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-05,
    "rope_scaling": None,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "vocab_size": 256,
}
# Small, tied, and with a rope whose four frequencies fall on all three branches
# of the llama3 scaling within 32 positions: wavelengths 6.3 (kept, below 8),
# 19.9 (between), 62.8 and 198.7 (divided by 8, above 32).
LLAMA_ROPE = LLAMA | {
    "hidden_size": 32,
    "intermediate_size": 48,
    "max_position_embeddings": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rope_scaling": {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 32,
        "rope_type": "llama3",
    },
    "rope_theta": 100.0,
    "tie_word_embeddings": True,
}
# Clipping at 1.0 acts in every step; at 2.3 only in the first four of ten.
ADAMW = 'name = "adamw", lr = 1e-3, betas = [0.9, 0.95], eps = 1e-8, decay = 0.1, clip = '
COSINE = ADAMW + '1.0, schedule = "cosine", warmup = 2, steps = 10, min_lr = 1e-4'
CONSTANT = ADAMW + '1.0, schedule = "constant"'
SOME_CLIPPED = ADAMW + '2.3, schedule = "constant"'
CASES = {"gpt2": (GPT2, COSINE, 1), "llama": (LLAMA, CONSTANT, 2), "llama-rope": (LLAMA_ROPE, SOME_CLIPPED, 3)}

JOB = """format = 1
model  = "config.json"
train  = {{ sequence = {sequence}, global_batch = {batch} }}
dtype  = {{ compute = "f64" }}
optimizer = {{ {optimizer} }}
"""


def initial_weights(config, seed):
    """Weights that leave no path idle: biases not 0, norm scales not 1, and
    matrices large enough that attention and gates are far from uniform."""
    rng = np.random.default_rng(seed)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    weights = {}
    for name, parameter in sorted(model.named_parameters()):
        value = rng.standard_normal(tuple(parameter.shape))
        if parameter.dim() >= 2:
            value = 0.1 * value
        elif name.endswith(".bias"):
            value = 0.05 * value
        else:
            value = 1 + 0.1 * value
        weights[name] = torch.from_numpy(value)
    return weights


def check_reference(config, weights, windows):
    """The double-precision model against the untouched transformers classes."""
    with torch.no_grad():
        exact = reference.loss_of(reference.load(config, weights), windows).item()
        plain = reference.load(config, weights, torch.float32, exact=False)
        other = plain(input_ids=windows[:, :-1], labels=None, use_cache=False).logits
        other = torch.nn.functional.cross_entropy(other.flatten(0, 1), windows[:, 1:].flatten()).item()
    if abs(exact - other) > 2e-6 * abs(exact):
        raise SystemExit(f"reference {exact} is not transformers' {other}")


def check_optimizer(opt):
    """reference.AdamW against torch.optim.AdamW, on the same clipped gradients."""
    rng = torch.Generator().manual_seed(7)
    values = [torch.randn(shape, generator=rng, dtype=torch.float64) for shape in ((5, 3), (7,))]
    ours = [torch.nn.Parameter(v.clone()) for v in values]
    theirs = [torch.nn.Parameter(v.clone()) for v in values]
    a = reference.AdamW(ours, opt)
    groups = [{"params": [theirs[0]], "weight_decay": opt["decay"]}, {"params": [theirs[1]], "weight_decay": 0.0}]
    b = torch.optim.AdamW(groups, betas=tuple(opt["betas"]), eps=opt["eps"])
    for step in range(1, STEPS + 1):
        gradients = [torch.randn(p.shape, generator=rng, dtype=torch.float64) for p in ours]
        scale = min(1.0, opt["clip"] / torch.cat([g.flatten() for g in gradients]).norm().item())
        for p, q, g in zip(ours, theirs, gradients):
            p.grad, q.grad = g, g * scale
        a.step()
        for group in b.param_groups:
            group["lr"] = reference.learning_rate(opt, step)
        b.step()
    worst = max((p - q).abs().max().item() for p, q in zip(ours, theirs))
    if not worst <= 1e-14:
        raise SystemExit(f"reference.AdamW is not torch.optim.AdamW: {worst}")


def compute(config_json, optimizer, seed, tokens):
    config = transformers.AutoConfig.for_model(**config_json)
    training, validation = reference.split(tokens)
    windows = reference.windows_of(training, SEQUENCE)
    init = initial_weights(config, seed)
    check_reference(config, init, windows[:BATCH])
    check_optimizer(optimizer)

    model = reference.load(config, init)
    named = dict(model.named_parameters())
    assert named.keys() == init.keys()
    adamw = reference.AdamW(named.values(), optimizer)
    snapshot = lambda: {n: p.detach().clone() for n, p in named.items()}
    files, losses, norms = {"init/model": snapshot()}, [], []
    evaluations = [reference.evaluate(model, validation, SEQUENCE)]
    for step in range(1, STEPS + 1):
        batch = windows[(step - 1) * BATCH : step * BATCH]
        assert len(batch) == BATCH
        model.zero_grad()
        loss = reference.loss_of(model, batch)
        loss.backward()
        if step == 1:
            files["gradients"] = {n: p.grad.clone() for n, p in named.items()}
        losses.append(loss.item())
        norms.append(adamw.step())
        if step in (1, 2, STEPS):
            files[f"step{step}"] = snapshot()
    evaluations.append(reference.evaluate(model, validation, SEQUENCE))
    numbers = {"losses": losses, "norms": norms, "validation": evaluations}
    return files, numbers


def error(value, golden, floor):
    return ((value - golden).abs().max() / max(golden.abs().max().item(), floor)).item()


def check(directory, files, numbers):
    """Exit with a message unless the committed values agree within 1e-11."""
    floor = 1e-6 * max(g.abs().max().item() for g in files["gradients"].values())
    worst = 0.0
    for name, tensors in files.items():
        golden = load_file(directory / f"{name}.safetensors")
        if golden.keys() != tensors.keys():
            raise SystemExit(f"{directory.name}/{name}: other tensor names")
        worst = max([worst] + [error(t, golden[n], floor) for n, t in tensors.items()])
    for name, values in numbers.items():
        golden = [float(line) for line in (directory / f"{name}.txt").read_text().split()]
        if len(golden) != len(values):
            raise SystemExit(f"{directory.name}/{name}: {len(golden)} values, not {len(values)}")
        worst = max([worst] + [abs(a - b) / abs(b) for a, b in zip(values, golden)])
    print(f"{directory.name}: largest error {worst:.1e}")
    return worst <= 1e-11


def write(directory, config_json, job, data, files, numbers):
    (directory / "init").mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config_json | {"torch_dtype": "float64"}, indent=2, sort_keys=True) + "\n")
    (directory / "job.toml").write_text(job)
    (directory / "data.bin").write_bytes(data)
    for name, tensors in files.items():
        path = directory / f"{name}.safetensors"
        save_file({n: t.contiguous() for n, t in tensors.items()}, path, {"format": "pt"})
        path.chmod(0o644)
    for name, values in numbers.items():
        (directory / f"{name}.txt").write_text("".join(f"{v:.17g}\n" for v in values))
    print(f"{directory.name}: loss {numbers['losses'][0]:.6f} -> {numbers['losses'][-1]:.6f}, "
          f"norm {numbers['norms'][0]:.4f} -> {numbers['norms'][-1]:.4f}, "
          f"validation {numbers['validation'][0]:.6f} -> {numbers['validation'][1]:.6f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files")
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = TEXT.read_bytes()[:TEXT_BYTES]
    tokens = torch.tensor(list(data))
    good = True
    for name, (config_json, optimizer, seed) in CASES.items():
        job = JOB.format(sequence=SEQUENCE, batch=BATCH, optimizer=optimizer)
        files, numbers = compute(config_json, tomllib.loads(job)["optimizer"], seed, tokens)
        if args.check:
            good &= check(HERE / name, files, numbers)
        else:
            write(HERE / name, config_json, job, data, files, numbers)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
