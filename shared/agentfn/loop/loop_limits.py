"""How far a loop may go, and what is said when it went so far."""

from dataclasses import dataclass, field

from agentfn.models import Usage
from agentfn.tools.execution import ToolLimits

RESERVED = frozenset({"finish", "ask_user", "reject_task", "request_auth", "report_progress"})  # the loop's own tools
CLOSING = (
    "{limit} reached, and tools are off. Give the best answer that what you have found so far allows, "
    "and say what is missing."
)


@dataclass(frozen=True)
class Patience:
    """`seconds` is the longest that one call may take, `retries` the budget of retries that a loop begins with.

    Each retry takes one of the budget, and each call that needs none gives one back: a bad hour ends a task, a bad
    minute now and then does not.
    """

    seconds: float = 180.0
    retries: int = 4


@dataclass(frozen=True)
class LoopLimits:
    """None is no limit. `cost` is in US dollars, and is kept where the model's price is known.

    `history_chars` and `history_tokens` are the most of a transcript that the model is shown. `repeats` is how often
    the same call may be made in a row, `nudges` how often a reply that cannot be read is asked for again.
    `closing_seconds` are kept for the last answer where a loop that runs out of time cannot go on in another run.
    """

    steps: int = 40
    tokens: int | None = None
    cost: float | None = None
    history_chars: int = 400_000
    history_tokens: int | None = None
    repeats: int = 6
    nudges: int = 2
    closing_seconds: float = 20.0
    patience: Patience = field(default_factory=Patience)
    tools: ToolLimits = field(default_factory=ToolLimits)

    def met(self, step: int, spent: Usage) -> str:
        """The limit that forbids a further step, as a finish reason; empty where none does."""
        if step > self.steps:
            return "max_steps"
        if self.tokens is not None and spent.total >= self.tokens:
            return "max_tokens"
        if self.cost is not None and (spent.cost or 0.0) >= self.cost:
            return "max_cost"
        return ""

    def closing(self, limit: str) -> str:
        """What the model is told when that limit is met."""
        words = {
            "max_steps": f"The limit of {self.steps} steps is",
            "max_tokens": f"The limit of {self.tokens:,} tokens is" if self.tokens else "",
            "max_cost": f"The limit of {self.cost} US dollars is" if self.cost else "",
        }
        return CLOSING.format(limit=words.get(limit) or "The end of the time is")
