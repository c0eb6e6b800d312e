"""The task context of the loop engine: what an agent's own code works with."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Iterable

from agentfn.agent import Agent
from agentfn.errors import AgentfnError
from agentfn.loop import AgentLoop, LoopEvent, LoopFinished, LoopResult, NestedLoops, Notice, Progress
from agentfn.loop.transcript import order_turns, total_usage, turns_of_loop, turns_since_user
from agentfn.models import Model, Turn
from agentfn.runs.run import Run
from agentfn.runs.skill_router import ROUTER_LOOP, choose_skill, needs_routing, routed_skill
from agentfn.telemetry import logger
from agentfn.tools import FileInfo, TaskSuspended


class LoopTaskContext:
    """Implements `agentfn.agent.TaskContext` for one run: runs the agent's loop, and saves each event to the journal.

    `loop` is the agent's loop as declared. `max_parallel` nested loops may run at once.
    """

    def __init__(self, run: Run, loop: AgentLoop, max_parallel: int) -> None:
        self._journal = run.journal
        self._turns = run.turns
        self._interrupted = run.interrupted
        environment = dataclasses.replace(loop.environment, count_usage=lambda _: total_usage(self._turns))
        loop = dataclasses.replace(loop, environment=environment)
        self._nested = NestedLoops(loop, self._turns, self._record_event, max_parallel, run.interrupted)
        environment = dataclasses.replace(environment, nested_runner=self._nested.run)
        self._loop = dataclasses.replace(loop, environment=environment)

    @property
    def id(self) -> str:
        return self._journal.record.task.id

    @property
    def skill(self) -> str:
        return self._journal.record.skill or routed_skill(self._turns)

    @property
    def message(self) -> str:
        newest_first = reversed(self._main_turns())
        texts = (turn.text for turn in newest_first if turn.role == "user" and not turn.tool_call_id)
        return next(texts, "")

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return self._journal.workspace.files

    async def run_stream(
        self, *, instructions: str | None = None, tools: Iterable[str] | None = None
    ) -> AsyncGenerator[LoopEvent]:
        loop = self._loop
        loop = loop if instructions is None else dataclasses.replace(loop, system_prompt=instructions)
        loop = loop if tools is None else dataclasses.replace(loop, tools=loop.tools.select(tools))
        async with contextlib.aclosing(loop.run_stream(self._main_turns(), interrupted=self._interrupted)) as events:
            async for event in events:
                yield self._add_routing_usage(event) if isinstance(event, LoopFinished) else event

    async def run_nested(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> LoopResult:
        return await self._nested.run(name, message, instructions=instructions, tools=tools)

    def progress(self, text: str) -> LoopEvent:
        return Progress(0, text)

    def completed(self, text: str, files: Iterable[str] | None = None) -> LoopEvent:
        produced = self._journal.workspace.produced
        wanted = None if files is None else set(files)
        chosen = tuple(file for file in produced if wanted is None or file.name in wanted)
        if missing := (wanted or set()) - {file.name for file in produced}:
            raise AgentfnError(f"no such file: {', '.join(sorted(missing))}")
        return LoopFinished(0, LoopResult("completed", text, files=chosen, usage=total_usage(self._turns)))

    async def select_skill(self, agent: Agent, model: Callable[[], Model]) -> None:
        """Chooses the skill and saves the choice, unless it is chosen already or the message names one.

        Raises DeadlineReached if another run has to choose.
        """
        if needs_routing(self._journal.record.skill, self._turns):
            await self._record_event(
                await choose_skill(model(), agent.skills, self.message, self._loop.environment.deadline)
            )

    async def run_agent(self, agent: Agent) -> LoopResult:
        """Runs `agent.handle` until the task ends, waits for its user, or has to continue in another run."""
        result = None
        try:
            async with contextlib.aclosing(agent.handle(self)) as events:
                async for event in events:
                    await self._record_event(event)
                    if isinstance(event, LoopFinished):
                        result = event.result
                        break
        except (TaskSuspended, BaseExceptionGroup):
            if self._nested.stop_result is None:
                raise
        if self._nested.stop_result is not None:
            await self._nested.drain()
            return self._nested.stop_result
        if result is None:
            raise AgentfnError(f"agent {agent.name} ended its work without a result")
        return result

    async def _record_event(self, event: LoopEvent) -> None:
        """Saves an event of the main loop or of a nested one."""
        if isinstance(event, Notice):
            logger.warning("%s", event.text, task_id=self.id)
        self._turns += event.turns
        await self._journal.add_event(event)

    def _add_routing_usage(self, final: LoopFinished) -> LoopFinished:
        """Adds the usage of the skill router to that of the answer."""
        usage = total_usage(turns_of_loop(turns_since_user(self._turns), ROUTER_LOOP))
        return dataclasses.replace(final, result=dataclasses.replace(final.result, usage=final.result.usage + usage))

    def _main_turns(self) -> list[Turn]:
        return order_turns(turns_of_loop(self._turns, ""))
