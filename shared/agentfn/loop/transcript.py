"""Pure functions of a transcript. A run uses them to find out where an earlier run stopped."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from agentfn.loop.loop_result import CallRecord, Step
from agentfn.models import ModelResponse, ToolCall, Turn, Usage
from agentfn.tools.tool_output import replace_surrogates


def order_turns(turns: Iterable[Turn]) -> list[Turn]:
    """The turns with the results of a model's turn directly after it, in the order of its calls.

    A user turn while calls wait for approval gets the id of the first of these calls, and comes after the results.
    """
    ordered: list[Turn] = []
    group = _TurnGroup()
    for turn in turns:
        if turn.role == "assistant" or not group.accepts(turn):
            ordered += group.turns()
            group = _TurnGroup(turn)
        else:
            group.add(turn)
    return ordered + group.turns()


class _TurnGroup:
    """A turn of the model, the results of its calls, and the user's decisions on calls that needed approval."""

    def __init__(self, model_turn: Turn | None = None) -> None:
        self._model_turn = model_turn
        self._indexes = {call.id: index for index, call in enumerate(model_turn.tool_calls)} if model_turn else {}
        self._results: list[Turn] = []
        self._decisions: list[Turn] = []

    def accepts(self, turn: Turn) -> bool:
        return turn.role == "tool" or turn.tool_call_id in self._indexes or bool(self._pending_call_ids())

    def add(self, turn: Turn) -> None:
        if turn.role == "tool":
            self._results.append(turn)
            return
        call_id = turn.tool_call_id or self._pending_call_ids()[0]
        self._decisions.append(dataclasses.replace(turn, tool_call_id=call_id))

    def turns(self) -> list[Turn]:
        results = sorted(self._results, key=lambda result: self._indexes.get(result.tool_call_id, 0))
        return [*([self._model_turn] if self._model_turn else []), *results, *self._decisions]

    def _pending_call_ids(self) -> list[str]:
        answered = {turn.tool_call_id for turn in (*self._results, *self._decisions)}
        return [call_id for call_id in self._indexes if call_id not in answered]


def pending_calls(turns: Sequence[Turn]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant turn that have no result yet."""
    answered = set()
    for turn in reversed(turns):
        if turn.role == "tool":
            answered.add(turn.tool_call_id)
        elif turn.role == "assistant":
            return tuple(call for call in turn.tool_calls if call.id not in answered)
        elif not turn.tool_call_id:
            break
    return ()


def approval_reply(turns: Sequence[Turn], call: ToolCall) -> str | None:
    """The user's reply to the question whether `call` may be run; None if there is none."""
    for turn in reversed(turns):
        if turn.role == "user" and turn.tool_call_id == call.id:
            return turn.text
        if turn.role == "assistant":
            break
    return None


def visible_turns(turns: Iterable[Turn]) -> list[Turn]:
    """The turns that the model sees. A decision on a call is not among them: it is part of the call's result."""
    return [turn for turn in turns if turn.role != "user" or not turn.tool_call_id]


def turns_of_loop(turns: Iterable[Turn], name: str) -> list[Turn]:
    """The turns of one loop, from the turns of the whole task."""
    return [turn for turn in turns if turn.loop_name == name]


def truncated_call_id(turns: Sequence[Turn]) -> str:
    """The id of the call that was cut off at the output limit: the last of its turn. Empty if there is none."""
    last = next(turn for turn in reversed(turns) if turn.role == "assistant")
    return last.tool_calls[-1].id if last.truncated and last.tool_calls else ""


def turns_since_user(turns: Sequence[Turn]) -> list[Turn]:
    """The turns after the user's last one. Decisions on calls do not count as turns of the user."""
    for index in range(len(turns) - 1, -1, -1):
        if turns[index].role == "user" and not turns[index].tool_call_id:
            return list(turns[index + 1 :])
    return list(turns)


def count_steps(turns: Sequence[Turn]) -> int:
    """The number of model turns since the user's last turn."""
    return sum(turn.role == "assistant" for turn in turns_since_user(turns))


def count_repeats(turns: Sequence[Turn], call: ToolCall) -> int:
    """How many calls directly before this one were the same."""
    made = [earlier for turn in turns_since_user(turns) for earlier in turn.tool_calls]
    before = made[: next((index for index, earlier in enumerate(made) if earlier.id == call.id), len(made))]
    count = 0
    for earlier in reversed(before):
        if (earlier.name, earlier.arguments) != (call.name, call.arguments):
            break
        count += 1
    return count


def with_unique_ids(calls: Sequence[ToolCall], turns: Sequence[Turn]) -> tuple[ToolCall, ...]:
    """The calls with ids that are unique in the transcript: results and idempotency keys depend on them."""
    taken = {call.id for turn in turns for call in turn.tool_calls}
    renamed = []
    for call in calls:
        base = call.id or f"call_{len(taken) + 1}"
        numbered = (f"{base}_{number}" for number in itertools.count(2))
        call_id = next(name for name in itertools.chain([base], numbered) if name not in taken)
        taken.add(call_id)
        renamed.append(dataclasses.replace(call, id=call_id))
    return tuple(renamed)


def sanitize_response(response: ModelResponse) -> ModelResponse:
    """The response without lone surrogates, which a stream can contain when it is split inside a character."""
    calls = tuple(
        ToolCall(*(replace_surrogates(part) for part in (call.id, call.name, call.arguments)))
        for call in response.tool_calls
    )
    return dataclasses.replace(response, text=replace_surrogates(response.text), tool_calls=calls)


def total_usage(turns: Iterable[Turn]) -> Usage:
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def build_steps(turns: Sequence[Turn], seconds: dict[str, float], failed_call_ids: set[str]) -> tuple[Step, ...]:
    """The steps since the user's last turn. `seconds` has the duration of the calls of this run, by call id."""
    results = {turn.tool_call_id: turn.text for turn in turns if turn.role == "tool"}

    def record_of(call: ToolCall) -> CallRecord:
        result, is_error = results.get(call.id, ""), call.id in failed_call_ids
        return CallRecord(call.name, call.arguments, result, is_error, seconds.get(call.id))

    model_turns = [turn for turn in turns_since_user(turns) if turn.role == "assistant"]
    return tuple(
        Step(index, turn.text, tuple(map(record_of, turn.tool_calls))) for index, turn in enumerate(model_turns, 1)
    )
