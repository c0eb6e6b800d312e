"""Where a transcript stands. Everything here is a pure function of its turns: that is how a run finds its place."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from agentfn.loop.result import CallRecord, Step
from agentfn.models import Call, Reply, Turn, Usage
from agentfn.tools.output import writable


def in_order(turns: Iterable[Turn]) -> list[Turn]:
    """The turns with each run of tool results in the order of the calls they answer, whichever was saved first."""
    ordered: list[Turn] = []
    places: dict[str, int] = {}
    pending: list[Turn] = []
    for turn in turns:
        if turn.role == "tool":
            pending.append(turn)
            continue
        ordered += sorted(pending, key=lambda result: places.get(result.call_id, 0))
        pending = []
        places = {call.id: place for place, call in enumerate(turn.calls)}
        ordered.append(turn)
    return ordered + sorted(pending, key=lambda result: places.get(result.call_id, 0))


def unanswered(turns: Sequence[Turn]) -> tuple[Call, ...]:
    """The calls of the last assistant turn that have no result yet."""
    answered = set()
    for turn in reversed(turns):
        if turn.role == "tool":
            answered.add(turn.call_id)
        elif turn.role == "assistant":
            return tuple(call for call in turn.calls if call.id not in answered)
        else:
            break
    return ()


def since_user(turns: Sequence[Turn]) -> list[Turn]:
    """The turns after the user's last one."""
    for place in range(len(turns) - 1, -1, -1):
        if turns[place].role == "user":
            return list(turns[place + 1 :])
    return list(turns)


def steps_taken(turns: Sequence[Turn]) -> int:
    return sum(turn.role == "assistant" for turn in since_user(turns))


def repeats(turns: Sequence[Turn], call: Call) -> int:
    """How many calls in a row, straight before this one, were the same."""
    made = [earlier for turn in since_user(turns) for earlier in turn.calls]
    before = made[: next((place for place, earlier in enumerate(made) if earlier.id == call.id), len(made))]
    count = 0
    for earlier in reversed(before):
        if (earlier.name, earlier.arguments) != (call.name, call.arguments):
            break
        count += 1
    return count


def distinct(calls: Sequence[Call], turns: Sequence[Turn]) -> tuple[Call, ...]:
    """The calls with ids that no other call of the transcript has: results and idempotency keys go by them."""
    taken = {call.id for turn in turns for call in turn.calls}
    made = []
    for call in calls:
        stem = call.id or f"call_{len(taken) + 1}"
        others = (f"{stem}_{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([stem], others) if name not in taken)
        taken.add(name)
        made.append(dataclasses.replace(call, id=name))
    return tuple(made)


def whole(reply: Reply) -> Reply:
    """The reply without halves of characters, as a stream cut in the wrong place has them."""
    calls = tuple(Call(*(writable(part) for part in (call.id, call.name, call.arguments))) for call in reply.calls)
    return dataclasses.replace(reply, text=writable(reply.text), calls=calls)


def usage_of(turns: Iterable[Turn]) -> Usage:
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def steps_of(turns: Sequence[Turn], seconds: dict[str, float], mistakes: set[str]) -> tuple[Step, ...]:
    """The steps since the user's last turn; `seconds` and `mistakes` are by call id, of calls made in this run."""
    results = {turn.call_id: turn.text for turn in turns if turn.role == "tool"}
    spoken = [turn for turn in since_user(turns) if turn.role == "assistant"]
    return tuple(
        Step(
            index,
            turn.text,
            tuple(
                CallRecord(
                    call.name,
                    call.arguments,
                    results.get(call.id, ""),
                    call.id in mistakes,
                    seconds.get(call.id),
                )
                for call in turn.calls
            ),
        )
        for index, turn in enumerate(spoken, 1)
    )
