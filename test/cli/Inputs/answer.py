"""The JSON document of a search: every dimension with its value, terms that add up, the proof."""
import json
import sys

answer = json.load(open(sys.argv[1]))
best = answer["answer"]
names = [d["name"] for d in answer["space"]]
assert sorted(best["dimensions"]) == sorted(names) and "tensor" in names and "recompute" in names, names
assert abs(sum(best["seconds_by_term"].values()) / best["seconds"] - 1) < 1e-9, best
assert abs(sum(best["bytes_by_term"].values()) / best["bytes"] - 1) < 1e-9, best
assert best["seconds_low"] < best["seconds"] < best["seconds_high"] and best["fits"]
mesh = best["dimensions"]
assert mesh["pipeline"] * mesh["data"] * mesh["context"] * mesh["tensor"] == answer["cluster"]["devices"] == 512
assert "precision = bf16" in best["not_executed"], best
assert answer["proof"]["complete"] and answer["proof"]["gap"] == 0 and answer["proof"]["evaluated"] > 0
assert answer["proof"]["bound_seconds"] <= best["seconds"]
assert len(answer["next_best"]) == 3
assert all(a["seconds"] <= b["seconds"] for a, b in zip([best] + answer["next_best"], answer["next_best"]))
assert any(v["name"] == "1f1b" and v["executed"] for d in answer["space"] if d["name"] == "schedule" for v in d["values"])
assert answer["calibrated"] and answer["constants"]["device"] == "h100"
assert {a["name"] for a in answer["assumed"]} >= {"dtype"}
