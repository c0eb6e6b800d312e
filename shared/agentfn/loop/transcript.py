"""Where a transcript stands. Everything here is a pure function of its turns: that is how a run finds its place."""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from agentfn.loop.loop_result import CallRecord, Step
from agentfn.models import ModelResponse, ToolCall, Turn, Usage
from agentfn.tools.tool_output import replace_surrogates


def order_turns(turns: Iterable[Turn]) -> list[Turn]:
    """The turns with all results of a model's turn straight after it, in the order of its calls, however they were
    saved. What the user says while calls wait for him is marked as the answer to the first of them and comes after.
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
    """A turn of the model, the results of its calls, and the user's verdicts on those that waited for him."""

    def __init__(self, spoken: Turn | None = None) -> None:
        self._model_turn = spoken
        self._places = {call.id: place for place, call in enumerate(spoken.tool_calls)} if spoken else {}
        self._results: list[Turn] = []
        self._decisions: list[Turn] = []

    def accepts(self, turn: Turn) -> bool:
        return turn.role == "tool" or turn.tool_call_id in self._places or bool(self._pending_call_ids())

    def add(self, turn: Turn) -> None:
        if turn.role == "tool":
            self._results.append(turn)
        else:
            self._decisions.append(
                turn if turn.tool_call_id else dataclasses.replace(turn, tool_call_id=self._pending_call_ids()[0])
            )

    def turns(self) -> list[Turn]:
        results = sorted(self._results, key=lambda result: self._places.get(result.tool_call_id, 0))
        return [*([self._model_turn] if self._model_turn else []), *results, *self._decisions]

    def _pending_call_ids(self) -> list[str]:
        settled = {turn.tool_call_id for turn in (*self._results, *self._decisions)}
        return [call_id for call_id in self._places if call_id not in settled]


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
    """What the user said when he was shown that call; None where he was not, or has not answered."""
    for turn in reversed(turns):
        if turn.role == "user" and turn.tool_call_id == call.id:
            return turn.text
        if turn.role == "assistant":
            break
    return None


def visible_turns(turns: Iterable[Turn]) -> list[Turn]:
    """What the model sees: a verdict is told with the result of the call that it was about."""
    return [turn for turn in turns if turn.role != "user" or not turn.tool_call_id]


def turns_of_loop(turns: Iterable[Turn], name: str) -> list[Turn]:
    """The turns of one loop among all of a task's."""
    return [turn for turn in turns if turn.loop_name == name]


def truncated_call_id(turns: Sequence[Turn]) -> str:
    """The id of the call that the output limit cut off: the last of its turn. Empty where none was."""
    spoken = next(turn for turn in reversed(turns) if turn.role == "assistant")
    return spoken.tool_calls[-1].id if spoken.truncated and spoken.tool_calls else ""


def turns_since_user(turns: Sequence[Turn]) -> list[Turn]:
    """The turns after the user's last one, verdicts apart."""
    for place in range(len(turns) - 1, -1, -1):
        if turns[place].role == "user" and not turns[place].tool_call_id:
            return list(turns[place + 1 :])
    return list(turns)


def count_steps(turns: Sequence[Turn]) -> int:
    return sum(turn.role == "assistant" for turn in turns_since_user(turns))


def count_repeats(turns: Sequence[Turn], call: ToolCall) -> int:
    """How many calls in a row, straight before this one, were the same."""
    made = [earlier for turn in turns_since_user(turns) for earlier in turn.tool_calls]
    before = made[: next((place for place, earlier in enumerate(made) if earlier.id == call.id), len(made))]
    count = 0
    for earlier in reversed(before):
        if (earlier.name, earlier.arguments) != (call.name, call.arguments):
            break
        count += 1
    return count


def with_unique_ids(calls: Sequence[ToolCall], turns: Sequence[Turn]) -> tuple[ToolCall, ...]:
    """The calls with ids that no other call of the transcript has: results and idempotency keys go by them."""
    taken = {call.id for turn in turns for call in turn.tool_calls}
    made = []
    for call in calls:
        stem = call.id or f"call_{len(taken) + 1}"
        others = (f"{stem}_{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([stem], others) if name not in taken)
        taken.add(name)
        made.append(dataclasses.replace(call, id=name))
    return tuple(made)


def sanitize_response(reply: ModelResponse) -> ModelResponse:
    """The reply without halves of characters, as a stream cut in the wrong place has them."""
    calls = tuple(
        ToolCall(*(replace_surrogates(part) for part in (call.id, call.name, call.arguments)))
        for call in reply.tool_calls
    )
    return dataclasses.replace(reply, text=replace_surrogates(reply.text), tool_calls=calls)


def total_usage(turns: Iterable[Turn]) -> Usage:
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def build_steps(turns: Sequence[Turn], seconds: dict[str, float], failed_call_ids: set[str]) -> tuple[Step, ...]:
    """The steps since the user's last turn; `seconds` and `mistakes` are by call id, of calls made in this run."""
    results = {turn.tool_call_id: turn.text for turn in turns if turn.role == "tool"}
    spoken = [turn for turn in turns_since_user(turns) if turn.role == "assistant"]
    return tuple(
        Step(
            index,
            turn.text,
            tuple(
                CallRecord(
                    call.name,
                    call.arguments,
                    results.get(call.id, ""),
                    call.id in failed_call_ids,
                    seconds.get(call.id),
                )
                for call in turn.tool_calls
            ),
        )
        for index, turn in enumerate(spoken, 1)
    )
