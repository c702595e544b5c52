"""Bytes that the search predicts for our own runtime, beside what the allocator lays out.

usage: memory_model.py HOCKET FOLDER (for config.json and the plan)

Of every case the prediction is at least the layout and at most 1.05 times it. Micro-batches have 256 tokens
or more: below, the kernels' own scratch, which hangs on no token, outweighs the 1 % that is allowed for it.
"""
import json
import os
import subprocess
import sys

hocket, folder = sys.argv[1:]
CASES = [  # family, hidden, feed-forward, heads, key/value heads, layers, vocabulary, strategy, sequence, micro-batch
    ("llama", 256, 512, 8, 8, 4, 512, "data=1", 256, 2),
    ("llama", 256, 1024, 8, 2, 4, 512, "pipeline=2", 256, 2),
    ("llama", 256, 256, 8, 2, 4, 4096, "tensor=2,pipeline=4", 256, 1),
    ("llama", 128, 384, 4, 4, 6, 1024, "data=2,tensor=4", 128, 4),
    ("gpt2", 256, 1024, 8, 8, 4, 512, "tensor=2,data=2", 256, 2),
    ("gpt2", 256, 512, 8, 8, 8, 4096, "pipeline=4", 256, 2),
    ("gpt2", 128, 512, 4, 4, 4, 256, "tensor=2,pipeline=2", 128, 4),
    ("gpt2", 256, 1024, 8, 8, 4, 512, "pipeline=4,data=2", 512, 1),
]
for family, h, f, a, kv, layers, v, strategy, sequence, micro in CASES:
    if family == "llama":
        config = dict(model_type="llama", hidden_size=h, intermediate_size=f, num_attention_heads=a,
                      num_key_value_heads=kv, num_hidden_layers=layers, vocab_size=v, max_position_embeddings=2048)
    else:
        config = dict(model_type="gpt2", n_embd=h, n_inner=f, n_head=a, n_layer=layers, vocab_size=v, n_positions=2048,
                      resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, tie_word_embeddings=False)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    run = subprocess.run([hocket, "plan", "--model", folder, "--cluster", "two-hosts-of-8", "--strategy", strategy,
                          "--allow-idle", "--sequence", str(sequence), "--global-batch", "32", "--micro-batch", str(micro),
                          "-o", os.path.join(folder, "x.hkt"), "--json"], capture_output=True, text=True, check=True)
    plan = json.loads(run.stdout)
    layout = max(c["arena_bytes"] for c in plan["classes"])
    ratio = plan["answer"]["bytes"] / layout
    print(f"{family} hidden {h} {strategy}: predicted {ratio:.4f} of {layout} bytes")
    assert 1 <= ratio <= 1.05, (plan["classes"], plan["answer"]["bytes_by_term"])
