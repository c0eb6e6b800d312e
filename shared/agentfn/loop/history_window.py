"""The part of the history that fits the model's context window: the newest turns, no call without its result."""

import dataclasses
import itertools
import math
from collections.abc import Sequence

from agentfn.models import Turn

OMITTED_NOTE = "({count} earlier entries of this conversation are left out here.)\n\n"
# History is dropped in blocks of a quarter of the budget, so that the provider's cache of the prompt stays valid.
BLOCKS_PER_BUDGET = 4
DEFAULT_CHARS_PER_TOKEN = 3.0  # until the provider has counted tokens of this transcript


def trim_history(turns: Sequence[Turn], max_chars: int) -> list[Turn]:
    """The newest groups of turns that fit in `max_chars` characters, and the user's last turn before them.

    A group is one turn of the user, or one of the model with the results of its calls. The newest group always stays.
    """
    groups = _group_turns(turns)
    sizes = [sum(map(_turn_chars, group)) for group in groups]
    excess = sum(sizes) - max_chars
    if excess <= 0:
        return list(turns)
    block = max(1, max_chars // BLOCKS_PER_BUDGET)
    drop = math.ceil(excess / block) * block
    dropped = itertools.accumulate(sizes)
    first = next((index for index, size in enumerate(dropped, 1) if size >= drop), len(groups))
    return _keep_from(groups, min(first, len(groups) - 1))


def char_budget(turns: Sequence[Turn], max_chars: int, max_tokens: int | None) -> int:
    """The stricter of the two limits, in characters. A token's length is taken from the latest usage in `turns`."""
    if max_tokens is None:
        return max_chars
    return min(max_chars, int(max_tokens * _chars_per_token(turns)))


def _chars_per_token(turns: Sequence[Turn]) -> float:
    for index in range(len(turns) - 1, -1, -1):
        usage = turns[index].usage
        if usage is not None and usage.prompt_tokens:
            return max(1.0, min(6.0, sum(map(_turn_chars, turns[:index])) / usage.prompt_tokens))
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
    """The groups from `first` on, preceded by the user's last turn before them: providers require a user turn first."""
    user = next((index for index in range(first, -1, -1) if groups[index][0].role == "user"), first)
    kept = groups[first:] if user == first else [groups[user], *groups[first:]]
    start, *rest = [turn for group in kept for turn in group]
    count = sum(map(len, groups)) - sum(map(len, kept))
    return [dataclasses.replace(start, text=OMITTED_NOTE.format(count=count) + start.text) if count else start, *rest]


def _turn_chars(turn: Turn) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    return len(turn.text) + calls + sum(len(str(block)) for block in turn.thinking)
