"""litellm's list of prices, read without litellm."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentfn.models import Usage
from agentfn.models.prices import PRICE_LIST, PRICE_LIST_COPY, TokenCounts, cost_of, find_entry, model_info, usage_of
from agentfn.models.providers.litellm_internals import load_litellm

COUNTS = (
    TokenCounts(1_000, 500),
    TokenCounts(1_000, 500, cached_tokens=300),
    TokenCounts(1_000, 500, cached_tokens=300, cache_write_tokens=200),
    TokenCounts(150_000, 10, cache_write_tokens=20_000),
    TokenCounts(250_000, 100, cached_tokens=1_000, cache_write_tokens=2_000),
    TokenCounts(300_000, 500, cached_tokens=100_000, cache_write_tokens=5_000),
)
NOVA = "bedrock/amazon.nova-pro-v1:0"
ALONE = f"""
import sys
sys.modules["litellm"] = None
from agentfn.models.prices import TokenCounts, cost_of, model_info
print(*(cost_of(TokenCounts(1000, 100), model_info(name)) for name in ("openai/gpt-4o", "{NOVA}")))
"""


def test_a_price_is_litellms_to_the_last_digit() -> None:
    """For one chat model of OpenAI's and Bedrock's of each pattern of prices."""
    litellm = load_litellm()
    patterns = {_pattern(of): name for key, of in litellm.model_cost.items() if (name := _name(key, of))}
    names = sorted(patterns.values())
    assert len(names) > 50

    wrong = []
    for name in names:
        of = find_entry(litellm.model_cost, name)
        wrong += [
            name for count in COUNTS if (cost_of(count, of) or 0.0) != pytest.approx(_theirs(litellm, name, count))
        ]

    assert wrong == []


def test_the_list_is_read_as_data() -> None:
    code = (
        "import sys\nfrom agentfn.models.prices import model_info\n"
        "print(model_info('openai/gpt-4o')['litellm_provider'])\n"
    )
    ran = _python(code + "print('litellm' in sys.modules)")
    assert ran.split() == ["openai", "False"]


def test_a_model_that_is_not_in_the_list_has_no_price() -> None:
    assert model_info("openai/made-up-model") == {}
    assert usage_of(TokenCounts(10, 5, cached_tokens=2), {}) == Usage(10, 5, 2, None)


def test_a_provider_that_counts_more_from_its_cache_than_there_was_costs_no_less_than_that() -> None:
    of = {"input_cost_per_token": 1.0, "cache_read_input_token_cost": 0.5}
    assert cost_of(TokenCounts(prompt_tokens=10, cached_tokens=12), of) == 6.0


def test_without_litellm_the_copy_has_the_prices_of_openai_and_bedrock() -> None:
    assert _python(ALONE).split() == [
        str(cost_of(TokenCounts(1000, 100), model_info(name))) for name in ("openai/gpt-4o", NOVA)
    ]


def test_the_copy_is_of_the_litellm_that_is_pinned() -> None:
    table = json.loads(Path(load_litellm().__file__).with_name(PRICE_LIST).read_text())
    copy = json.loads(PRICE_LIST_COPY.read_text())
    assert len(copy) > 300
    assert all(entry == {key: table[name][key] for key in entry} for name, entry in copy.items()), "run `make lock`"
    wanted = {key for key, of in table.items() if _name(key, of)}
    assert wanted <= copy.keys(), "run `make lock`"


def _name(key: str, of: dict[str, Any]) -> str | None:
    provider = of.get("litellm_provider")
    if of.get("mode") != "chat" or provider not in ("openai", "bedrock", "bedrock_converse") or "commitment" in key:
        return None
    return key if key.startswith("bedrock/") else f"{'openai' if provider == 'openai' else 'bedrock'}/{key}"


def _pattern(of: dict[str, Any]) -> tuple[str, ...]:
    return of["litellm_provider"], *sorted(key for key in of if "cost" in key)


def _theirs(litellm: Any, name: str, count: TokenCounts) -> float:
    from litellm.types.utils import PromptTokensDetailsWrapper
    from litellm.types.utils import Usage as Counted

    counted = Counted(
        prompt_tokens=count.prompt_tokens,
        completion_tokens=count.completion_tokens,
        total_tokens=count.prompt_tokens + count.completion_tokens,
        prompt_tokens_details=PromptTokensDetailsWrapper(cached_tokens=count.cached_tokens),
        cache_creation_input_tokens=count.cache_write_tokens,
        cache_read_input_tokens=count.cached_tokens,
    )
    answered = litellm.ModelResponse(model=name, usage=counted)
    return float(litellm.completion_cost(completion_response=answered, model=name))


def _python(code: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
