"""How far a loop may go, and what is said when it went so far."""

from dataclasses import dataclass, field

from agentfn.models import Usage
from agentfn.settings_groups import LoopSettings, ModelSettings, default_of
from agentfn.tools.execution import ToolLimits

LIFECYCLE_TOOL_NAMES = frozenset(
    {"finish", "ask_user", "reject_task", "request_auth", "report_progress"}
)  # the loop's own tools
FINAL_ANSWER_PROMPT = (
    "{limit} reached, and tools are off. Give the best answer that what you have found so far allows, "
    "and say what is missing."
)


@dataclass(frozen=True)
class RetryPolicy:
    """`seconds` is the longest that one call may take, `retries` the budget of retries that a loop begins with.

    Each retry takes one of the budget, and each call that needs none gives one back: a bad hour ends a task, a bad
    minute now and then does not.
    """

    timeout_seconds: float = default_of(ModelSettings, "timeout_seconds")
    max_retries: int = default_of(ModelSettings, "max_retries")


@dataclass(frozen=True)
class LoopLimits:
    """None is no limit. `cost` is in US dollars, and is kept where the model's price is known.

    `history_chars` and `history_tokens` are the most of a transcript that the model is shown. `repeats` is how often
    the same call may be made in a row, `nudges` how often a reply that cannot be read is asked for again.
    `closing_seconds` are kept for the last answer where a loop that runs out of time cannot go on in another run.
    """

    max_steps: int = default_of(LoopSettings, "max_steps")
    max_total_tokens: int | None = None
    max_cost: float | None = None
    max_history_chars: int = default_of(LoopSettings, "max_history_chars")
    max_history_tokens: int | None = None
    max_repeats: int = default_of(LoopSettings, "max_repeats")
    max_retry_prompts: int = default_of(LoopSettings, "max_retry_prompts")
    final_answer_seconds: float = 20.0
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    tools: ToolLimits = field(default_factory=ToolLimits)

    def reached_limit(self, step: int, usage: Usage) -> str:
        """The limit that forbids a further step, as a finish reason; empty where none does."""
        if step > self.max_steps:
            return "max_steps"
        if self.max_total_tokens is not None and usage.total_tokens >= self.max_total_tokens:
            return "max_tokens"
        if self.max_cost is not None and (usage.cost or 0.0) >= self.max_cost:
            return "max_cost"
        return ""

    def final_answer_prompt(self, limit: str) -> str:
        """What the model is told when that limit is met."""
        words = {
            "max_steps": f"The limit of {self.max_steps} steps is",
            "max_tokens": f"The limit of {self.max_total_tokens:,} tokens is" if self.max_total_tokens else "",
            "max_cost": f"The limit of {self.max_cost} US dollars is" if self.max_cost else "",
        }
        return FINAL_ANSWER_PROMPT.format(limit=words.get(limit) or "The end of the time is")
