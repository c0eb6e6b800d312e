"""What is known of a model, prices above all: litellm's list, read as data. litellm itself is not imported for it.

The list is in litellm's package. Where litellm is left out there is `prices.json` beside this module: the part of the
list that the direct doors need, which `infra/prices.py` takes from the litellm that agentfn is tested with.
"""

import importlib.util
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentfn.models.messages import Usage

LIST = "model_prices_and_context_window_backup.json"
COPY = Path(__file__).with_name("prices.json")

Known = dict[str, Any]


@dataclass(frozen=True)
class Count:
    """Tokens of one answer. `cached` and `written` are the parts of `prompt` read from a cache and put into it."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    written: int = 0


@cache
def known(name: str) -> Known:
    """What the list says of this model, nothing where it is not in there.

    The first reading of a name takes some 50 ms of CPU: call it in a thread. Nothing but the entry is kept.
    """
    return entry(json.loads(_place().read_bytes()), name)


def entry(table: dict[str, Known], name: str) -> Known:
    """The model's entry in such a list, empty where there is none.

    A name without its first parts counts where the entry is of the same provider: the same model behind another
    provider may do other things.
    """
    parts = name.split("/")
    for start in range(len(parts)):
        found = table.get("/".join(parts[start:])) or {}
        if found and (start == 0 or str(found.get("litellm_provider")).startswith(parts[0])):
            return found
    return {}


def usage(count: Count, of: Known) -> Usage:
    return Usage(count.prompt, count.completion, count.cached, cost(count, of))


def cost(count: Count, of: Known) -> float | None:
    """US dollars, None where no price is known. What has no price of its own in a cache costs what the rest does."""
    plain = _rate(of, "input_cost_per_token", count.prompt, 0.0)
    read = _rate(of, "cache_read_input_token_cost", count.prompt, plain)
    written = _rate(of, "cache_creation_input_token_cost", count.prompt, plain)
    spoken = _rate(of, "output_cost_per_token", count.prompt, 0.0)
    rest = max(0, count.prompt - count.cached - count.written)
    return (rest * plain + count.cached * read + count.written * written + count.completion * spoken) or None


def _rate(of: Known, kind: str, prompt: int, default: float) -> float:
    """US dollars a token. A prompt above a threshold pays that one's rate for all of its tokens, not only the rest."""
    rate = of.get(kind)
    steps = ((re.fullmatch(rf"{kind}_above_(\d+)k_tokens", key), price) for key, price in of.items())
    for threshold, price in sorted((int(found[1]) * 1000, price) for found, price in steps if found):
        if prompt > threshold and price is not None:
            rate = price
    return default if rate is None else float(rate)


def _place() -> Path:
    spec = importlib.util.find_spec("litellm")  # imports nothing
    own = Path(spec.origin).with_name(LIST) if spec and spec.origin else COPY
    return own if own.is_file() else COPY
