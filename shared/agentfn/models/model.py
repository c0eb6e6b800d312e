"""The interface of a language model, and the request that it answers."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from agentfn.models.messages import ModelResponse, Turn


@dataclass(frozen=True)
class Sampling:
    """Options that go to the provider as they are; None leaves the provider's default."""

    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    reasoning_effort: str | None = None

    def options(self) -> dict[str, Any]:
        shape = {name: value for name, value in vars(self).items() if value is not None}
        if self.stop is not None:
            shape["stop"] = list(self.stop)
        return shape


@dataclass(frozen=True)
class ModelRequest:
    """One request to a model.

    `tools` are OpenAI function declarations. `schema` is the JSON Schema that the response's text should follow.
    `tool_choice` and `schema` are optional for the provider: a model drops them where the provider rejects them.
    `timeout` is in seconds and covers the whole call, the first import of a client included.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    timeout: float = 60.0
    sampling: Sampling = field(default_factory=Sampling)
    schema: dict[str, Any] | None = None


class Model(ABC):
    """A language model. It tries once: retries belong to the loop, which knows the deadline."""

    name: str

    @abstractmethod
    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Answers the request. It may be cancelled at any await.

        Raises ModelUnavailable where another try may help, ModelRequestRejected where it will not.
        """

    def warm_up(self) -> None:  # noqa: B027
        """Imports what `generate` needs. Sends nothing and opens no connection."""

    async def aclose(self) -> None:  # noqa: B027
        """Closes the connections that belong to the running event loop. The next request opens new ones."""


@runtime_checkable
class SupportsStreaming(Protocol):
    """A model that can also send its text while it is produced."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """Yields the text in pieces, then the whole response as the last item. Raises as `generate` does, at any
        item.
        """


@runtime_checkable
class SupportsToolQuery(Protocol):
    """A model that knows whether it can call tools natively."""

    async def supports_tool_calls(self) -> bool: ...
