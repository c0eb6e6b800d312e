"""The protocol of an event source."""

from typing import Any, Protocol

from agentfn.deadline import LambdaContext

Event = dict[str, Any]


class EventSource(Protocol):
    """Recognizes the events of one AWS service by their shape, and handles them."""

    def matches(self, event: Event) -> bool: ...

    async def handle(self, event: Event, context: LambdaContext) -> Any:
        """The handler's return value for an event that matches."""
        ...
