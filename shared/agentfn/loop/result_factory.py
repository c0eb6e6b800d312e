"""How a play of a loop ends, as its result."""

from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_result import LoopResult
from agentfn.loop.loop_state import LoopState
from agentfn.loop.tool_calls.approval import approval_question
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS, FinalOutput, find_final_output
from agentfn.loop.transcript import count_steps
from agentfn.models import ToolCall, Turn
from agentfn.models.messages import FinishReason
from agentfn.tools import FileInfo

EMPTY_ANSWER = "The model gave an empty answer, and so it did when it was asked again."
CONTENT_FILTERED = "The model's provider stopped the answer with its content filter."

Files = tuple[FileInfo, ...]


def answer_result(tally: LoopState, turn: Turn, finish: FinishReason, limit: str, produced: Files) -> LoopResult:
    """The model answered in text. `limit` is the one that was met before, if one was."""
    if finish == "content_filter":
        return tally.build_result("failed", turn.text or CONTENT_FILTERED, "content_filter")
    if not turn.text:
        return tally.build_result("failed", EMPTY_ANSWER, "empty_answer")
    return tally.build_result("completed", turn.text, limit or ("length" if turn.truncated else "answer"), produced)


def final_output_result(tally: LoopState, ending: FinalOutput, tool: str, produced: Files) -> LoopResult:
    """A lifecycle tool ended it; `produced` are all files that may be handed over."""
    chosen = tuple(info for info in produced if info.name in ending.files) if ending.files else produced
    files = chosen if ending.status == "completed" else ()
    return tally.build_result(ending.status, ending.text, tool, files, auth_scheme=ending.auth_scheme)


def approval_result(tally: LoopState, call: ToolCall) -> LoopResult:
    """A call needs the user's word first."""
    return tally.build_result("input_required", approval_question(call), "approval", call=call)


def existing_result(tally: LoopState, limits: LoopLimits, produced: Files) -> LoopResult | None:
    """The result of a loop whose last turn is in the transcript already: then nobody is asked again."""
    last = tally.turns[-1] if tally.turns else None
    if last is None or last.role == "user":
        return None
    spoken = next(turn for turn in reversed(tally.turns) if turn.role == "assistant")
    if not spoken.tool_calls:
        limit = "max_steps" if count_steps(tally.turns) > limits.max_steps else ""
        return answer_result(tally, spoken, "content_filter" if spoken.content_filtered else "stop", limit, produced)
    results = {turn.tool_call_id: turn.text for turn in tally.turns if turn.role == "tool"}
    for call in spoken.tool_calls:
        ending = find_final_output(call, results.get(call.id, "")) if call.name in LIFECYCLE_TOOLS else None
        if ending is not None:
            return final_output_result(tally, ending, call.name, produced)
    return None
