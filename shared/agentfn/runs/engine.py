"""The engine protocol: what a run works with."""

from typing import TYPE_CHECKING, Protocol

from agentfn.runs.run import Run

if TYPE_CHECKING:
    from agentfn.loop import LoopResult


class Engine(Protocol):
    """Works on a task in a run: the agent's model loop, or an executor written with another framework."""

    @property
    def can_suspend(self) -> bool:
        """Whether a later run can continue from the saved transcript."""

    @property
    def may_reply_with_message(self) -> bool:
        """Whether the answer may be a message in place of a task."""

    @property
    def reads_transcript(self) -> bool:
        """Whether it works from the saved turns, so that turns of related tasks may be put before them."""

    async def run(self, run: Run) -> "LoopResult | None":
        """Works until the task ends, waits, or has to continue in another run. None if the end is saved already."""

    async def cancel(self, run: Run) -> None:
        """Cleans up after a run whose task was cancelled or taken over. What is published then is discarded."""

    def warm_up(self) -> None:
        """Imports what a run needs, before the first event."""

    def reset(self) -> None:
        """Drops what must not be shared by the environments that start from one snapshot."""

    async def aclose(self) -> None:
        """Closes the connections that belong to the running event loop."""
