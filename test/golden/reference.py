"""Hugging Face models in double precision, and the optimizer step, written out.

transformers computes parts of Llama in float32 whatever the model's type is:
the angles of rope, RMSNorm, the softmax of eager attention, and the loss of
both families. `load` replaces exactly these by the same formulas in the
model's own type; generate.py checks the result against the untouched classes.
"""

import math

import torch
import torch.nn.functional as F
import transformers
from transformers.models.llama import modeling_llama


def inverse_frequencies(config):
    """Rope's inverse frequencies in float64, with the llama3 scaling."""
    rope = config.rope_parameters
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    result = []
    for i in range(0, dim, 2):
        freq = rope["rope_theta"] ** (-i / dim)
        if rope["rope_type"] == "llama3":
            low, high = rope["low_freq_factor"], rope["high_freq_factor"]
            turns = rope["original_max_position_embeddings"] * freq / (2 * math.pi)
            # turns > high: kept; turns < low: divided by the factor; linear between.
            smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
            freq = (1 - smooth) * freq / rope["factor"] + smooth * freq
        elif rope["rope_type"] != "default":
            raise SystemExit(f"rope_type {rope['rope_type']} is not supported here")
        result.append(freq)
    return torch.tensor(result, dtype=torch.float64)


class Rotary(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.frequencies = inverse_frequencies(config)

    def forward(self, x, position_ids):
        angle = position_ids[..., None].double() * self.frequencies
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


class RMSNorm(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.weight = norm.weight
        self.eps = norm.variance_epsilon

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def attention(module, query, key, value, mask, scaling, dropout=0.0, **_):
    """modeling_llama.eager_attention_forward without the float32 softmax."""
    key = key.repeat_interleave(module.num_key_value_groups, dim=1)
    value = value.repeat_interleave(module.num_key_value_groups, dim=1)
    scores = query @ key.transpose(2, 3) * scaling
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def load(config, weights, dtype=torch.float64, exact=True):
    """The Hugging Face model of `config` holding `weights` (name -> tensor)."""
    name = "hocket_reference" if exact and config.model_type == "llama" else "eager"
    transformers.AttentionInterface.register("hocket_reference", attention)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=name).to(dtype)
    missing, unexpected = model.load_state_dict({k: v.to(dtype) for k, v in weights.items()}, strict=False)
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    if unexpected or set(missing) - tied:
        raise SystemExit(f"weights do not match: missing {sorted(missing)}, unexpected {sorted(unexpected)}")
    model.tie_weights()
    if exact and config.model_type == "llama":
        model.model.rotary_emb = Rotary(config)
        for parent in list(model.modules()):
            for key, child in list(parent.named_children()):
                if isinstance(child, modeling_llama.LlamaRMSNorm):
                    setattr(parent, key, RMSNorm(child))
    return model.train()


def loss_of(model, windows):
    """Mean cross entropy over all tokens of `windows` ([batch, sequence + 1])."""
    logits = model(input_ids=windows[:, :-1], use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten())


def windows_of(tokens, sequence):
    """All whole windows in file order: window i is tokens[i*s : i*s + s + 1]."""
    count = (len(tokens) - 1) // sequence
    return torch.stack([tokens[i * sequence : i * sequence + sequence + 1] for i in range(count)])


def split(tokens):
    """(training, validation): the last ten per cent of the text validate."""
    cut = len(tokens) * 9 // 10
    return tokens[:cut], tokens[cut:]


@torch.no_grad()
def evaluate(model, tokens, sequence, batch=16):
    """Mean loss over every token of `tokens` but the first: whole windows, then
    the shorter one that is left."""
    windows = windows_of(tokens, sequence)
    total = sum(loss_of(model, part).item() * len(part) * sequence for part in windows.split(batch))
    rest = tokens[len(windows) * sequence :]
    if len(rest) > 1:
        total += loss_of(model, rest[None]).item() * (len(rest) - 1)
    return total / (len(tokens) - 1)


def learning_rate(opt, step):
    """The rate of `step`, counted from 1."""
    lr = opt["lr"]
    if opt.get("schedule", "constant") == "constant":
        return lr
    warmup, steps, floor = opt["warmup"], opt["steps"], opt["min_lr"]
    if step <= warmup:
        return lr * step / warmup
    return floor + 0.5 * (lr - floor) * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


class AdamW:
    """p -= lr * (decay * p + m' / (sqrt(v') + eps)); decay on tensors of two or
    more dimensions in the checkpoint (so not on biases and norms)."""

    def __init__(self, parameters, opt):
        self.parameters, self.opt, self.step_number = list(parameters), opt, 0
        self.m = [torch.zeros_like(p) for p in self.parameters]
        self.v = [torch.zeros_like(p) for p in self.parameters]

    @torch.no_grad()
    def step(self):
        """One step on the parameters' .grad; returns the norm before clipping."""
        opt, (beta1, beta2) = self.opt, self.opt["betas"]
        self.step_number += 1
        lr = learning_rate(opt, self.step_number)
        norm = math.sqrt(sum(p.grad.double().pow(2).sum().item() for p in self.parameters))
        # torch.nn.utils.clip_grad_norm_ would divide by norm + 1e-6 instead.
        scale = opt["clip"] / max(norm, opt["clip"])
        for p, m, v in zip(self.parameters, self.m, self.v):
            g = p.grad * scale
            m.mul_(beta1).add_(g, alpha=1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            mhat = m / (1 - beta1**self.step_number)
            vhat = v / (1 - beta2**self.step_number)
            decay = opt["decay"] if p.dim() >= 2 else 0.0
            p.sub_(lr * (decay * p + mhat / (vhat.sqrt() + opt["eps"])))
        return norm
