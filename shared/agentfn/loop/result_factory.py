"""How a play of a loop ends, as its result."""

from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_result import Result
from agentfn.loop.loop_state import Tally
from agentfn.loop.tool_calls.approval import question
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE, Ending, ending_of
from agentfn.loop.transcript import steps_taken
from agentfn.models import Call, Turn
from agentfn.models.turn import Finish
from agentfn.tools import FileInfo

EMPTY = "The model gave an empty answer, and so it did when it was asked again."
FILTERED = "The model's provider stopped the answer with its content filter."

Files = tuple[FileInfo, ...]


def answered(tally: Tally, turn: Turn, finish: Finish, limit: str, produced: Files) -> Result:
    """The model answered in text. `limit` is the one that was met before, if one was."""
    if finish == "content_filter":
        return tally.result("failed", turn.text or FILTERED, "content_filter")
    if not turn.text:
        return tally.result("failed", EMPTY, "empty_answer")
    return tally.result("completed", turn.text, limit or ("length" if turn.cut else "answer"), produced)


def ended(tally: Tally, ending: Ending, tool: str, produced: Files) -> Result:
    """A lifecycle tool ended it; `produced` are all files that may be handed over."""
    chosen = tuple(info for info in produced if info.name in ending.files) if ending.files else produced
    files = chosen if ending.status == "completed" else ()
    return tally.result(ending.status, ending.text, tool, files, auth_scheme=ending.auth_scheme)


def waits(tally: Tally, call: Call) -> Result:
    """A call needs the user's word first."""
    return tally.result("input_required", question(call), "approval", call=call)


def already_ended(tally: Tally, limits: LoopLimits, produced: Files) -> Result | None:
    """The result of a loop whose last turn is in the transcript already: then nobody is asked again."""
    last = tally.turns[-1] if tally.turns else None
    if last is None or last.role == "user":
        return None
    spoken = next(turn for turn in reversed(tally.turns) if turn.role == "assistant")
    if not spoken.calls:
        limit = "max_steps" if steps_taken(tally.turns) > limits.steps else ""
        return answered(tally, spoken, "content_filter" if spoken.filtered else "stop", limit, produced)
    results = {turn.call_id: turn.text for turn in tally.turns if turn.role == "tool"}
    for call in spoken.calls:
        ending = ending_of(call, results.get(call.id, "")) if call.name in LIFECYCLE else None
        if ending is not None:
            return ended(tally, ending, call.name, produced)
    return None
