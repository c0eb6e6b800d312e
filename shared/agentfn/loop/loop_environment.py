"""What a loop shares with the process and the task that it runs in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentfn.deadline import Deadline
from agentfn.loop.transcript import total_usage
from agentfn.models import Turn, Usage
from agentfn.tools import FolderWorkspace, NestedLoopRunner, Workspace
from agentfn.tools.execution import ConcurrencyLimiter
from agentfn.tools.tool_context import no_nested_loops

NO_DEADLINE_SECONDS = 86_400.0
DEFAULT_CONCURRENCY = 16


@dataclass(frozen=True)
class LoopEnvironment:
    """The defaults suit a script: a temporary folder, a day of time, no other run.

    `limiter` is shared by all loops of a process. `can_suspend` says that another run can continue the loop: when the
    deadline is reached, the loop then ends "suspended", otherwise with a final model call. `count_usage` returns the
    usage of the whole task, given the turns of this loop. `nested_runner` runs the nested loops of tools. `state` is
    passed to tools as `Context.state`.
    """

    task_id: str = "task"
    workspace: Workspace = field(default_factory=FolderWorkspace)
    deadline: Deadline = field(default_factory=lambda: Deadline.after(NO_DEADLINE_SECONDS))
    limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(DEFAULT_CONCURRENCY))
    can_suspend: bool = False
    count_usage: Callable[[Sequence[Turn]], Usage] = total_usage
    nested_runner: NestedLoopRunner = no_nested_loops
    state: Mapping[str, Any] = field(default_factory=dict)
