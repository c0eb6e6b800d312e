"""Writes the part of litellm's price list that the providers openai and bedrock need. `make lock` runs it.

    .venv/bin/python infra/prices.py

An agent whose package leaves litellm out then has prices too.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "shared" / "agentfn" / "models" / "prices.json"
PRICE_LIST = "model_prices_and_context_window_backup.json"
PROVIDERS = ("openai", "bedrock")
MODES = ("chat", "responses")
ABILITIES = "function_calling|response_schema|native_structured_output|adaptive_thinking|reasoning"
COSTS = "input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost"
KEPT_FIELDS = re.compile(rf"litellm_provider|mode|supports_({ABILITIES})|({COSTS})(_above_\d+k_tokens)?")


def extract(table: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The entries of these providers' chat models, with the fields that agentfn reads."""
    models = {
        name: entry
        for name, entry in table.items()
        if str(entry.get("litellm_provider")).startswith(PROVIDERS) and entry.get("mode") in MODES
    }
    return {
        name: {key: models[name][key] for key in sorted(models[name]) if KEPT_FIELDS.fullmatch(key)}
        for name in sorted(models)
    }


def read_litellm_list() -> dict[str, dict[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise SystemExit("prices: litellm is not installed here; run `make install` first")
    table: dict[str, dict[str, Any]] = json.loads(Path(spec.origin).with_name(PRICE_LIST).read_text(encoding="utf-8"))
    return table


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in extract(read_litellm_list()).items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
