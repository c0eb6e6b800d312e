"""The engine of agents that are written with agentfn: the model loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentfn.agent import Agent
from agentfn.loop.loop_limits import LoopLimits
from agentfn.models.lazy_model import LazyModel
from agentfn.runs.run import Run
from agentfn.settings import Settings
from agentfn.tools.execution import ConcurrencyLimiter

if TYPE_CHECKING:
    from agentfn.loop import LoopResult
    from agentfn.runs.task_context import LoopTaskContext


@dataclass(frozen=True)
class LoopEngine:
    """Runs the agent's `handle` on a task. A suspended task continues from its saved transcript.

    `get_model` makes the model when the first run begins. `get_router_model` makes the model that chooses among the
    agent's skills; None where none does. `limiter` is shared by all loops of the process.
    """

    agent: Agent
    settings: Settings
    get_model: LazyModel
    limits: LoopLimits
    limiter: ConcurrencyLimiter
    get_router_model: LazyModel | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    can_suspend: bool = field(default=True, init=False)
    may_reply_with_message: bool = field(default=False, init=False)
    reads_transcript: bool = field(default=True, init=False)

    async def run(self, run: Run) -> "LoopResult":
        from agentfn.loop import LoopResult  # imported when a task runs: requests that only read start faster
        from agentfn.loop.model_retry import DeadlineReached

        context = self._task_context(run)
        try:
            if self.get_router_model is not None:
                await context.select_skill(self.agent, self.get_router_model)
        except DeadlineReached as reached:
            return LoopResult("suspended", finish_reason="out_of_time", resume_in_seconds=reached.resume_in_seconds)
        return await context.run_agent(self.agent)

    async def cancel(self, run: Run) -> None:
        """Does nothing: a loop leaves nothing behind."""

    def warm_up(self) -> None:
        self.get_model.warm_up()

    def reset(self) -> None:
        self.get_model.reset()

    async def aclose(self) -> None:
        for model in (self.get_model, self.get_router_model):
            if model is not None:
                await model.aclose()

    def _task_context(self, run: Run) -> "LoopTaskContext":
        from agentfn.loop import AgentLoop, LoopEnvironment, LoopOptions
        from agentfn.runs.task_context import LoopTaskContext

        agent = self.agent
        loop = AgentLoop(
            model=self.get_model(),
            tools=agent.registry,
            system_prompt=agent.system_prompt(self.now()),
            limits=self.limits,
            options=LoopOptions(
                sampling=agent.sampling,
                tool_protocol=self.settings.model.tool_protocol,
                force_first_tool=agent.force_first_tool,
                compact_schemas=agent.compact_tools,
            ),
            environment=LoopEnvironment(
                task_id=run.journal.record.task.id,
                workspace=run.journal.workspace,
                deadline=run.deadline,
                limiter=self.limiter,
                can_suspend=True,
            ),
        )
        return LoopTaskContext(run, loop, self.settings.loop.max_parallel_loops)
