"""How much of a transcript the model is shown: its newest whole turns, and never a call without its result."""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from agentfn.models import Turn

OMITTED_NOTE = "({count} earlier entries of this conversation are left out here.)\n\n"
STRIDES_PER_BUDGET = (
    4  # what is left out grows by this fraction of the budget, so that a provider's cache of the start holds
)
DEFAULT_CHARS_PER_TOKEN = 3.0  # until the provider has counted some of this transcript


def trim_history(turns: Sequence[Turn], max_chars: int) -> list[Turn]:
    """The newest groups of turns that `chars` characters hold, and what the user asked for before them.

    A group is one turn of the user, or one of the model with the results of its calls. The newest group stays, however
    long it is.
    """
    groups = _group_turns(turns)
    sizes = [sum(map(_turn_chars, group)) for group in groups]
    excess = sum(sizes) - max_chars
    if excess <= 0:
        return list(turns)
    stride = max(1, max_chars // STRIDES_PER_BUDGET)
    drop = math.ceil(excess / stride) * stride
    gone = itertools.accumulate(sizes)
    first = next((place for place, size in enumerate(gone, 1) if size >= drop), len(groups))
    return _keep_from(groups, min(first, len(groups) - 1))


def char_budget(turns: Sequence[Turn], max_chars: int, max_tokens: int | None) -> int:
    """The limit in characters, of the two that is met first. A token's length is taken from what was counted last."""
    if max_tokens is None:
        return max_chars
    return min(max_chars, int(max_tokens * _chars_per_token(turns)))


def _chars_per_token(turns: Sequence[Turn]) -> float:
    for place in range(len(turns) - 1, -1, -1):
        usage = turns[place].usage
        if usage is not None and usage.prompt_tokens:
            return max(1.0, min(6.0, sum(map(_turn_chars, turns[:place])) / usage.prompt_tokens))
    return DEFAULT_CHARS_PER_TOKEN


def _group_turns(turns: Sequence[Turn]) -> list[list[Turn]]:
    groups: list[list[Turn]] = []
    for turn in turns:
        if turn.role == "tool" and groups:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return groups


def _keep_from(groups: list[list[Turn]], first: int) -> list[Turn]:
    """The groups from there on, begun with the user's last words before them, as every provider wants it."""
    opening = next((place for place in range(first, -1, -1) if groups[place][0].role == "user"), first)
    kept = groups[first:] if opening == first else [groups[opening], *groups[first:]]
    start, *rest = [turn for group in kept for turn in group]
    count = sum(map(len, groups)) - sum(map(len, kept))
    return [dataclasses.replace(start, text=OMITTED_NOTE.format(count=count) + start.text) if count else start, *rest]


def _turn_chars(turn: Turn) -> int:
    called = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    return len(turn.text) + called + sum(len(str(block)) for block in turn.thinking)
