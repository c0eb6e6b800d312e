"""A task in the hands of its agent, for one run."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Callable, Iterable

from agentfn.agent import Agent
from agentfn.errors import AgentfnError
from agentfn.loop import Event, Final, InnerLoops, Loop, Notice, Progress, Result
from agentfn.loop.transcript import in_order, of_loop, since_user, usage_of
from agentfn.models import Model, Turn
from agentfn.runs.journal import Journal
from agentfn.runs.skill_router import ROUTER, choose, chosen, undecided
from agentfn.telemetry import logger
from agentfn.tools import FileInfo, Paused


class TaskWork:
    """What an agent's `handle` works with (`agentfn.agent.Work`). `turns` are all of the task's, as they were saved.

    `loop` is the agent's own as declared, `parallel` how many inner ones may play at once.
    """

    def __init__(self, journal: Journal, turns: list[Turn], loop: Loop, parallel: int, interrupted: bool) -> None:
        self._journal = journal
        self._turns = turns
        self._interrupted = interrupted
        spending = dataclasses.replace(loop, spent=lambda _: usage_of(self._turns))
        self._inner = InnerLoops(spending, turns, self._note, parallel, interrupted)
        self._loop = dataclasses.replace(spending, inner=self._inner.run)

    @property
    def id(self) -> str:
        return self._journal.head.task.id

    @property
    def skill(self) -> str:
        return self._journal.head.skill or chosen(self._turns)

    @property
    def message(self) -> str:
        said = (turn.text for turn in reversed(self._own()) if turn.role == "user" and not turn.call_id)
        return next(said, "")

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return self._journal.files.files

    async def play(
        self, *, instructions: str | None = None, tools: Iterable[str] | None = None
    ) -> AsyncGenerator[Event]:
        loop = self._loop
        loop = loop if instructions is None else dataclasses.replace(loop, system=instructions)
        loop = loop if tools is None else dataclasses.replace(loop, tools=loop.tools.only(tools))
        async with contextlib.aclosing(loop.play(self._own(), interrupted=self._interrupted)) as events:
            async for event in events:
                yield self._with_routing(event) if isinstance(event, Final) else event

    async def run(self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> Result:
        return await self._inner.run(name, message, instructions=instructions, tools=tools)

    def progress(self, text: str) -> Event:
        return Progress(0, text)

    def completed(self, text: str, files: Iterable[str] | None = None) -> Event:
        produced = self._journal.files.produced
        wanted = None if files is None else set(files)
        chosen = tuple(info for info in produced if wanted is None or info.name in wanted)
        if missing := (wanted or set()) - {info.name for info in produced}:
            raise AgentfnError(f"no such file: {', '.join(sorted(missing))}")
        return Final(0, Result("completed", text, files=chosen, usage=usage_of(self._turns)))

    async def route(self, agent: Agent, model: Callable[[], Model]) -> None:
        """Chooses the skill, and saves the choice, unless that was done or the message names one.

        Raises OutOfTime where it has to be done in another run.
        """
        if undecided(self._journal.head.skill, self._turns):
            await self._note(await choose(model(), agent.skills, self.message, self._loop.deadline))

    async def done_by(self, agent: Agent) -> Result:
        """The agent's work on it, up to where it ends, waits, or has to be gone on with in another run."""
        result = None
        try:
            async with contextlib.aclosing(agent.handle(self)) as events:
                async for event in events:
                    await self._note(event)
                    if isinstance(event, Final):
                        result = event.result
                        break
        except (Paused, BaseExceptionGroup):
            if self._inner.stopped is None:
                raise
        if self._inner.stopped is not None:
            await self._inner.settle()
            return self._inner.stopped
        if result is None:
            raise AgentfnError(f"agent {agent.name} ended its work without a result")
        return result

    async def _note(self, event: Event) -> None:
        """Keeps what an event brings, whichever loop it comes from."""
        if isinstance(event, Notice):
            logger.warning("%s", event.text, task_id=self.id)
        self._turns += event.turns
        await self._journal.note(event)

    def _with_routing(self, final: Final) -> Final:
        """What it cost to choose a skill is a part of what the answer cost."""
        usage = usage_of(of_loop(since_user(self._turns), ROUTER))
        return dataclasses.replace(final, result=dataclasses.replace(final.result, usage=final.result.usage + usage))

    def _own(self) -> list[Turn]:
        return in_order(of_loop(self._turns, ""))
