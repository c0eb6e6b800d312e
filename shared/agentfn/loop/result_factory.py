"""Functions that build the result of a loop, one for each way in which it can end."""

from agentfn.errors import ModelError
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_result import LoopResult
from agentfn.loop.loop_state import LoopState
from agentfn.loop.tool_calls.approval import approval_question
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS, FinalOutput, find_final_output
from agentfn.loop.transcript import count_steps
from agentfn.models import ToolCall, Turn
from agentfn.models.messages import FinishReason
from agentfn.tools import FileRecord
from agentfn.tools.tool_output import replace_surrogates

EMPTY_ANSWER = "The model gave an empty answer, and so it did when it was asked again."
CONTENT_FILTERED = "The model's provider stopped the answer with its content filter."

type Files = tuple[FileRecord, ...]


def answer_result(state: LoopState, turn: Turn, finish_reason: FinishReason, limit: str, produced: Files) -> LoopResult:
    """The result when the model answers in text. `limit` is the limit that was reached before, or empty."""
    if finish_reason == "content_filter":
        return state.build_result("failed", turn.text or CONTENT_FILTERED, "content_filter")
    if not turn.text:
        return state.build_result("failed", EMPTY_ANSWER, "empty_answer")
    return state.build_result("completed", turn.text, limit or ("length" if turn.truncated else "answer"), produced)


def final_output_result(state: LoopState, output: FinalOutput, produced: Files) -> LoopResult:
    """The result when a lifecycle tool ends the loop. `produced` are all files that may be returned."""
    selected = tuple(file for file in produced if file.name in output.files) if output.files else produced
    files = selected if output.status == "completed" else ()
    return state.build_result(output.status, output.text, output.tool_name, files, auth_scheme=output.auth_scheme)


def approval_result(state: LoopState, call: ToolCall) -> LoopResult:
    """The result when a tool call needs the user's approval."""
    return state.build_result("input_required", approval_question(call), "approval", call=call)


def error_result(state: LoopState, error: ModelError) -> LoopResult:
    """The result when the model fails for good."""
    text = replace_surrogates(str(error)).strip() or type(error).__name__
    return state.build_result("failed", text, "model_error")


def existing_result(state: LoopState, limits: LoopLimits, produced: Files) -> LoopResult | None:
    """The result of a loop whose transcript already holds its last turn; None if the loop has to continue."""
    last = state.turns[-1] if state.turns else None
    if last is None or last.role == "user":
        return None
    model_turn = next(turn for turn in reversed(state.turns) if turn.role == "assistant")
    if not model_turn.tool_calls:
        limit = "max_steps" if count_steps(state.turns) > limits.max_steps else ""
        finish_reason: FinishReason = "content_filter" if model_turn.content_filtered else "stop"
        return answer_result(state, model_turn, finish_reason, limit, produced)
    results = {turn.tool_call_id: turn.text for turn in state.turns if turn.role == "tool"}
    for call in model_turn.tool_calls:
        output = find_final_output(call, results.get(call.id, "")) if call.name in LIFECYCLE_TOOLS else None
        if output is not None:
            return final_output_result(state, output, produced)
    return None
