"""Writes the part of litellm's price list that the direct doors need. `make lock` runs it, as the pin may have moved.

    .venv/bin/python infra/prices.py

An agent that leaves litellm out of its package then knows what its models cost all the same.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "shared" / "agentfn" / "models" / "prices.json"
LIST = "model_prices_and_context_window_backup.json"
PROVIDERS = ("openai", "bedrock")
MODES = ("chat", "responses")
ABILITIES = "function_calling|response_schema|native_structured_output|adaptive_thinking|reasoning"
COSTS = "input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost"
KEPT = re.compile(rf"litellm_provider|mode|supports_({ABILITIES})|({COSTS})(_above_\d+k_tokens)?")


def extract(table: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The chat models of the direct doors' providers, with what agentfn reads of them."""
    wanted = {
        name: told
        for name, told in table.items()
        if str(told.get("litellm_provider")).startswith(PROVIDERS) and told.get("mode") in MODES
    }
    return {
        name: {key: wanted[name][key] for key in sorted(wanted[name]) if KEPT.fullmatch(key)} for name in sorted(wanted)
    }


def litellms() -> dict[str, dict[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise SystemExit("prices: litellm is not installed here; run `make install` first")
    table: dict[str, dict[str, Any]] = json.loads(Path(spec.origin).with_name(LIST).read_text(encoding="utf-8"))
    return table


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(told)}" for name, told in extract(litellms()).items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
