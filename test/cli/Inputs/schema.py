#!/usr/bin/env python3
"""Checks schemas/cluster.schema.json against the reader: what the reader takes is valid, what the schema names the
reader knows, and bad values are refused by both.

usage: schema.py SCHEMA CLUSTER.toml...
"""
import copy
import json
import re
import subprocess
import sys
import tomllib

with open(sys.argv[1], encoding="utf-8") as f:
    SCHEMA = json.load(f)


def wrong(value, schema):
    """Why a value does not fit, or None. The keywords that the schema uses and no others."""
    unknown = set(schema) - {"$ref", "$defs", "$schema", "title", "description", "examples", "type", "const", "enum",
                             "anyOf", "pattern", "minimum", "maximum", "minItems", "maxItems", "minProperties", "items",
                             "required", "properties", "patternProperties", "additionalProperties"}
    assert not unknown, unknown
    if "$ref" in schema:
        return wrong(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    if "anyOf" in schema:
        return None if any(wrong(value, s) is None for s in schema["anyOf"]) else f"{value!r}: fits none"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
    if "type" in schema and (not isinstance(value, kinds[schema["type"]]) or isinstance(value, bool)):
        return f"{value!r} is no {schema['type']}"
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        return f"{value!r} is not one of the words"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{value!r} does not match"
    if isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{value!r} is out of range"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return "wrong length"
        return next((w for v in value if (w := wrong(v, schema.get("items", {})))), None)
    if isinstance(value, dict):
        if len(value) < schema.get("minProperties", 0) or not set(schema.get("required", [])) <= set(value):
            return "a key is missing"
        for key, v in value.items():
            if any(re.search(p, key) for p in schema.get("patternProperties", {})):
                continue
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            if inner is False:
                return f"unknown key {key}"
            if (w := wrong(v, inner)):
                return w
    return None


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def reader(document):
    """The reader's errors."""
    with open("schema-case.toml", "w", encoding="utf-8") as f:
        f.write("".join(f"{k} = {toml(v)}\n" for k, v in document.items()))
    done = subprocess.run(["hocket", "plan", "--model", "none", "--sequence", "1", "--global-batch", "1", "--stop-after=topo",
                           "--message-format=short", "--cluster", "schema-case.toml"], capture_output=True, text=True)
    return [l for l in done.stderr.splitlines() if l.startswith("schema-case.toml:") and " has GPUs " not in l
            and "several pools in this version" not in l]


full = None
for path in sys.argv[2:]:
    with open(path, "rb") as f:
        document = tomllib.load(f)
    assert wrong(document, SCHEMA) is None, (path, wrong(document, SCHEMA))
    assert reader(document) == [], reader(document)
    full = document if "mixed-site" in path else full

# Every key of the schema, one at a time, in a file that has every table.
full["device"] = {"mine": {"kind": "gpu", "memory": "1 GiB", "rate": {"f32": "1 TFLOP/s"}, "memory_rate": "1 GB/s",
                           "link": {"rate": "1 GB/s"}, "host_link": {"rate": "1 GB/s"}}}
full["host"]["l4-box"]["device"] = "mine"
assert reader(full) == [], reader(full)
defs = SCHEMA["$defs"]
paths = [("pool", ["pool", 0]), ("level", ["fabric", 0]), ("host", ["host", "l4-box"]), ("device", ["device", "mine"])]
tables = [(path, defs[name]) for name, path in paths]
tables += [(path + [key], inner) for name, path in paths for key, inner in defs[name]["properties"].items()
           if "properties" in inner]
assert wrong(full, SCHEMA) is None, wrong(full, SCHEMA)
tried = 0
for path, schema in tables:
    table = full
    for step in path:
        table = table[step]
    before = copy.deepcopy(table)
    for key in schema["properties"]:
        # A list fits 'between' alone: it must be known, and refused.
        table[key] = [True, True, True]
        if key in ("isa", "threads"):
            table["kind"] = "cpu"
        errors = reader(full)
        # The reader stops at a pool before it sees the fabric, so one error is enough.
        assert not any("unknown key" in e for e in errors), (key, errors)
        assert errors, key
        assert wrong(full, SCHEMA), key
        table.clear()
        table.update(copy.deepcopy(before))
        tried += 1
    table["unknown_key"] = 1
    assert wrong(full, SCHEMA) and any("unknown key" in e for e in reader(full)), schema
    del table["unknown_key"]
    table["x-own"] = 1
    assert wrong(full, SCHEMA) is None and reader(full) == [], reader(full)
    del table["x-own"]
print(tried, "keys")
