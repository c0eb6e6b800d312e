"""Limits of a loop, and the prompt for its final answer when one of them is reached."""

from dataclasses import dataclass, field

from agentfn.models import Usage
from agentfn.settings_groups import LoopSettings, ModelSettings, default_of
from agentfn.tools.execution import ToolLimits

# Stated again here, so that a process which only reads tasks does not import the tools.
LIFECYCLE_TOOL_NAMES = frozenset({"finish", "ask_user", "reject_task", "request_auth", "report_progress"})
FINAL_ANSWER_PROMPT = (
    "{limit} reached, and tools are off. Give the best answer that what you have found so far allows, "
    "and say what is missing."
)


@dataclass(frozen=True)
class RetryPolicy:
    """`timeout_seconds` limits one model call. `max_retries` is the retry budget with which a loop starts.

    Each retry takes one from the budget. Each call that succeeds at once gives one back, so that only a long outage
    ends a task.
    """

    timeout_seconds: float = default_of(ModelSettings, "timeout_seconds")
    max_retries: int = default_of(ModelSettings, "max_retries")


@dataclass(frozen=True)
class LoopLimits:
    """None means no limit. `max_cost` is in US dollars and needs a known price of the model.

    `max_history_chars` and `max_history_tokens` limit the part of the transcript that the model sees. `max_repeats` is
    how often the same call may be made in a row, `max_retry_prompts` how often an unusable response is asked for again.
    `final_answer_seconds` are reserved for the final answer if no other run can continue the loop.
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
        """The limit that forbids another step, as a finish reason; empty if there is none."""
        if step > self.max_steps:
            return "max_steps"
        if self.max_total_tokens is not None and usage.total_tokens >= self.max_total_tokens:
            return "max_tokens"
        if self.max_cost is not None and (usage.cost or 0.0) >= self.max_cost:
            return "max_cost"
        return ""

    def final_answer_prompt(self, limit: str) -> str:
        """The prompt for the final answer, after `limit` was reached."""
        reasons = {
            "max_steps": f"The limit of {self.max_steps} steps is",
            "max_tokens": f"The limit of {self.max_total_tokens:,} tokens is" if self.max_total_tokens else "",
            "max_cost": f"The limit of {self.max_cost} US dollars is" if self.max_cost else "",
        }
        return FINAL_ANSWER_PROMPT.format(limit=reasons.get(limit) or "The end of the time is")
