"""Events of the schedule (EventBridge), which starts the sweep."""

from typing import Any

from agentfn.deadline import Deadline, LambdaContext
from agentfn.event_sources.event_source import Event
from agentfn.runs.sweep import Sweep


class ScheduleEventSource:
    """Runs the sweep for each event. The event is the rule's input in infra/agent.yaml."""

    def __init__(self, sweep: Sweep, reserve_seconds: float) -> None:
        self._sweep = sweep
        self._reserve_seconds = reserve_seconds

    def matches(self, event: Event) -> bool:
        return event.get("agentfn") == "sweep"

    async def handle(self, event: Event, context: LambdaContext) -> Any:
        return await self._sweep.run(Deadline.from_lambda_context(context, reserve_seconds=self._reserve_seconds))
