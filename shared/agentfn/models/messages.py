"""The messages between an agent and a model: the turns of a transcript, and the model's response.

The shapes follow OpenAI's chat messages, which every provider's client accepts.
Source: https://platform.openai.com/docs/api-reference/chat/create
"""

from dataclasses import dataclass, field
from typing import Any, Literal, Self

Role = Literal["user", "assistant", "tool"]
FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True)
class ToolCall:
    """A tool call as the model wrote it: `arguments` is the raw text, which may not be valid JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Turn:
    """One turn of the transcript.

    A user turn has text. An assistant turn has text, tool calls or both. A tool turn has the result of the call
    `tool_call_id` of the assistant turn before it; its text is never empty, because some providers reject an empty
    result.

    `truncated` says that the provider stopped an assistant turn at its length limit, `content_filtered` that its
    content filter did. `usage` is what that turn cost.
    `thinking` holds a reasoning model's signed blocks as its provider wrote them: some providers need them back with
    the results of the calls. `loop_name` is the nested loop that the turn belongs to, empty for the task's own loop.
    """

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    tool_name: str = ""
    truncated: bool = False
    content_filtered: bool = False
    usage: "Usage | None" = None
    thinking: tuple[dict[str, Any], ...] = ()
    loop_name: str = ""

    def to_json(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"role": self.role}
        if self.text:
            shape["text"] = self.text
        if self.tool_calls:
            shape["calls"] = [[call.id, call.name, call.arguments] for call in self.tool_calls]
        if self.role == "tool":
            shape |= {"call_id": self.tool_call_id, "name": self.tool_name}
        if self.truncated:
            shape["cut"] = True
        if self.content_filtered:
            shape["filtered"] = True
        if self.usage is not None:
            shape["usage"] = self.usage.to_json()
        if self.thinking:
            shape["thinking"] = list(self.thinking)
        if self.loop_name:
            shape["loop"] = self.loop_name
        return shape

    @classmethod
    def from_json(cls, shape: dict[str, Any]) -> Self:
        return cls(
            role=shape["role"],
            text=shape.get("text", ""),
            tool_calls=tuple(ToolCall(*parts) for parts in shape.get("calls", ())),
            tool_call_id=shape.get("call_id", ""),
            tool_name=shape.get("name", ""),
            truncated=shape.get("cut", False),
            content_filtered=shape.get("filtered", False),
            usage=Usage.from_json(shape["usage"]) if "usage" in shape else None,
            thinking=tuple(shape.get("thinking", ())),
            loop_name=shape.get("loop", ""),
        )


@dataclass(frozen=True)
class Usage:
    """Tokens, and US dollars where the price is known. `cached_tokens` are the part of `prompt_tokens` that was read
    from a cache.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    @property
    def uncached_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(known) if known else None,
        )

    def to_json(self) -> dict[str, Any]:
        shape = {"prompt": self.prompt_tokens, "completion": self.completion_tokens, "cached": self.cached_tokens}
        return {**shape, "cost": self.cost} if self.cost is not None else shape

    @classmethod
    def from_json(cls, shape: dict[str, Any]) -> Self:
        return cls(shape.get("prompt", 0), shape.get("completion", 0), shape.get("cached", 0), shape.get("cost"))


@dataclass(frozen=True)
class ModelResponse:
    """A model's response. With the finish reason "length" the text, or the last call's arguments, may be incomplete."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: FinishReason = "stop"
    thinking: tuple[dict[str, Any], ...] = ()

    @property
    def turn(self) -> Turn:
        text = self.text if self.text.strip() else ""
        return Turn(
            "assistant",
            text,
            self.tool_calls,
            truncated=self.finish_reason == "length",
            content_filtered=self.finish_reason == "content_filter",
            usage=self.usage,
            thinking=self.thinking,
        )
