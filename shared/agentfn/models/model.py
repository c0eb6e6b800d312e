"""What every door to a language model looks like."""

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
    """One question to a model.

    `tools` are OpenAI function declarations. `tool_choice` is a wish: a door may drop it where the provider refuses it.
    So is `schema`, the JSON Schema that the reply's text is to follow. `timeout` is in seconds and covers the whole
    call, a first import included; a door gives up by then, whatever the provider does.
    """

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Literal["auto", "required", "none"] = "auto"
    timeout: float = 60.0
    sampling: Sampling = field(default_factory=Sampling)
    schema: dict[str, Any] | None = None


class Model(Protocol):
    """A door to one language model. It asks once: retries belong to the loop, which knows the deadline.

    Raises ModelUnavailable where asking again may help, ModelRefused where it will not. A door may be cancelled at
    any await.
    """

    @property
    def name(self) -> str: ...

    async def generate(self, prompt: ModelRequest) -> ModelResponse: ...


@runtime_checkable
class SupportsStreaming(Protocol):
    """A door that can also tell the text while it is produced."""

    def stream(self, prompt: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """The text in pieces, then the whole reply, which is the last item. Raises as `ask` does, midway too."""


@runtime_checkable
class SupportsToolQuery(Protocol):
    """A door that knows whether its model can call tools natively."""

    async def supports_tool_calls(self) -> bool: ...
