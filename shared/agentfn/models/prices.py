"""Model prices and capabilities, from litellm's list. It is read as data: litellm is not imported.

The list is in litellm's package. Where litellm is not installed, `prices.json` beside this module is read: the part of
the list that the providers openai and bedrock need, which `infra/prices.py` copies from the litellm that agentfn is
tested with.
"""

import importlib.util
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentfn.models.messages import Usage

PRICE_LIST = "model_prices_and_context_window_backup.json"
PRICE_LIST_COPY = Path(__file__).with_name("prices.json")

ModelInfo = dict[str, Any]


@dataclass(frozen=True)
class TokenCounts:
    """Tokens of one response. `cached_tokens` and `cache_write_tokens` are the parts of `prompt_tokens` that were read
    from a cache and written to it.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0


@cache
def model_info(name: str) -> ModelInfo:
    """The model's entry in the list, empty where there is none.

    The first call for a name takes about 50 ms of CPU: make it in a thread. Only the entry is cached.
    """
    return find_entry(json.loads(_price_list_path().read_bytes()), name)


def find_entry(table: dict[str, ModelInfo], name: str) -> ModelInfo:
    """The model's entry in such a list, empty where there is none.

    An entry under the name without its first parts is taken only where it is of the same provider: the same model
    behind another provider may have other capabilities.
    """
    parts = name.split("/")
    for start in range(len(parts)):
        found = table.get("/".join(parts[start:])) or {}
        if found and (start == 0 or str(found.get("litellm_provider")).startswith(parts[0])):
            return found
    return {}


def usage_of(counts: TokenCounts, info: ModelInfo) -> Usage:
    return Usage(counts.prompt_tokens, counts.completion_tokens, counts.cached_tokens, cost_of(counts, info))


def cost_of(counts: TokenCounts, info: ModelInfo) -> float | None:
    """US dollars, None where no price is known. Cached tokens without a price in the list cost what the others do."""
    plain = _token_price(info, "input_cost_per_token", counts.prompt_tokens, 0.0)
    read = _token_price(info, "cache_read_input_token_cost", counts.prompt_tokens, plain)
    written = _token_price(info, "cache_creation_input_token_cost", counts.prompt_tokens, plain)
    spoken = _token_price(info, "output_cost_per_token", counts.prompt_tokens, 0.0)
    rest = max(0, counts.prompt_tokens - counts.cached_tokens - counts.cache_write_tokens)
    return (
        rest * plain
        + counts.cached_tokens * read
        + counts.cache_write_tokens * written
        + counts.completion_tokens * spoken
    ) or None


def _token_price(info: ModelInfo, kind: str, prompt: int, default: float) -> float:
    """US dollars a token. A prompt above a threshold pays the threshold's price for all of its tokens."""
    rate = info.get(kind)
    steps = ((re.fullmatch(rf"{kind}_above_(\d+)k_tokens", key), price) for key, price in info.items())
    for threshold, price in sorted((int(found[1]) * 1000, price) for found, price in steps if found):
        if prompt > threshold and price is not None:
            rate = price
    return default if rate is None else float(rate)


def _price_list_path() -> Path:
    spec = importlib.util.find_spec("litellm")  # imports nothing
    own = Path(spec.origin).with_name(PRICE_LIST) if spec and spec.origin else PRICE_LIST_COPY
    return own if own.is_file() else PRICE_LIST_COPY
