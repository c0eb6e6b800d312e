"""A tool call that is not run yet: whether it needs approval, is rejected, or may be run."""

import dataclasses
from dataclasses import dataclass

from agentfn.loop.tool_calls.approval import ApprovalDecision
from agentfn.models import ToolCall
from agentfn.tools import Tool
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments

MIN_REPEATS_FOR_WARNING = 3

TRUNCATED_CALL = ToolCallError(
    "the reply was cut off at the output limit, so this call was not run; make it shorter", "truncated"
)
OUTCOME_UNKNOWN = ToolCallError(
    "the run that made this call died before its result was saved: the outcome is unknown. "
    "It may have taken effect; check before doing it again",
    "outcome_unknown",
)
REPEATED_CALL = ToolCallError(
    "this very call was made too often; its result will not change. Go on without it", "repeated"
)


@dataclass(frozen=True)
class PendingCall:
    """`repeats` is how many calls directly before this one were the same. `truncated` says that it was cut off at the
    output limit, `interrupted` that an earlier run may have started it and died. `decision` is the user's, if any.
    """

    call: ToolCall
    tool: Tool | None
    repeats: int
    decision: ApprovalDecision | None
    truncated: bool
    interrupted: bool

    def needs_approval(self, max_repeats: int, max_argument_chars: int) -> bool:
        """Whether to ask the user first. The user is not asked about a call that could not be run anyway."""
        if self.tool is None or not self.tool.requires_approval or self.decision is not None:
            return False
        if self.truncated or self.repeats >= max_repeats:
            return False
        return not isinstance(parse_arguments(self.call.arguments, self.tool, max_argument_chars), ToolCallError)

    def rejection(self, max_repeats: int, tool_names: list[str]) -> ToolCallError | None:
        """Why the call is not run; None if it may be run.

        `max_repeats` is how often the same call may be made in a row. `tool_names` are the names of all tools.
        """
        if self.truncated:
            return TRUNCATED_CALL
        if self.tool is None:
            text = f"there is no tool {self.call.name!r}; there are: {', '.join(tool_names)}"
            return ToolCallError(text, "unknown_tool")
        if self.decision is not None and not self.decision.approved:
            return self.decision.declined_error()
        if self.interrupted and not self.tool.idempotent:
            return OUTCOME_UNKNOWN
        return REPEATED_CALL if self.repeats >= max_repeats else None

    def approved_call(self) -> ToolCall:
        """The call, with the arguments that the user changed."""
        changed = self.decision.arguments if self.decision else None
        return self.call if changed is None else dataclasses.replace(self.call, arguments=changed)

    def result_notes(self) -> list[str]:
        """Notes for the model, added below the result."""
        notes = [self.decision.note()] if self.decision else []
        if self.repeats + 1 >= MIN_REPEATS_FOR_WARNING:
            notes.append(f"(This is the same call as the last {self.repeats}; calling it again will not help.)")
        return notes
