"""One run of a task."""

from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.models import Turn
from agentfn.runs.journal import Journal


@dataclass(frozen=True)
class Run:
    """One invocation's work on a task: the journal that it writes, the saved transcript, and its deadline.

    `interrupted` says that the run before may have died with calls under way.
    """

    journal: Journal
    turns: list[Turn]
    deadline: Deadline
    interrupted: bool = False

    @property
    def number(self) -> int:
        """Counts the runs of the task, from 1."""
        return self.journal.record.run
