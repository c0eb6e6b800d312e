"""One call as it stands before it is run: whether it may be, must be refused, or waits for the user."""

import dataclasses
from dataclasses import dataclass

from agentfn.loop.tool_calls.approval import Verdict
from agentfn.models import Call
from agentfn.tools import Tool
from agentfn.tools.tool_arguments import Mistake, read_arguments

NUDGE_AT = 3

TRUNCATED = Mistake("the reply was cut off at the output limit, so this call was not run; make it shorter", "truncated")
UNKNOWN = Mistake(
    "the run that made this call died before its result was saved: the outcome is unknown. "
    "It may have taken effect; check before doing it again",
    "outcome_unknown",
)
REPEATED = Mistake("this very call was made too often; its result will not change. Go on without it", "repeated")


@dataclass(frozen=True)
class Case:
    """`before` is how many calls in a row, straight before this one, were the same. `cut` says that it was cut off at
    the output limit, `interrupted` that an earlier run may have started it and died.
    """

    call: Call
    tool: Tool | None
    before: int
    verdict: Verdict | None
    cut: bool
    interrupted: bool

    def waits(self, most: int, argument_chars: int) -> bool:
        """Whether the user has to be asked first. He is not bothered with a call that could not be run anyway."""
        if self.tool is None or not self.tool.approval or self.verdict is not None or self.cut or self.before >= most:
            return False
        return not isinstance(read_arguments(self.call.arguments, self.tool, argument_chars), Mistake)

    def refusal(self, most: int, names: list[str]) -> Mistake | None:
        """`most` is how often the same call may be made in a row; `names` are the tools that there are."""
        if self.cut:
            return TRUNCATED
        if self.tool is None:
            return Mistake(f"there is no tool {self.call.name!r}; there are: {', '.join(names)}", "unknown_tool")
        if self.verdict is not None and not self.verdict.approved:
            return self.verdict.declined()
        if self.interrupted and not self.tool.idempotent:
            return UNKNOWN
        return REPEATED if self.before >= most else None

    def approved(self) -> Call:
        """The call with the arguments that the user put in, if he did."""
        changed = self.verdict.arguments if self.verdict else None
        return self.call if changed is None else dataclasses.replace(self.call, arguments=changed)

    def notes(self) -> list[str]:
        """What the model is told below the result."""
        told = [self.verdict.note()] if self.verdict else []
        if self.before + 1 >= NUDGE_AT:
            told.append(f"(This is the same call as the last {self.before}; calling it again will not help.)")
        return told
