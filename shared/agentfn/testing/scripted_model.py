"""A model that answers from a script, so that agents are tested without a provider.

model = ScriptedModel(calls("find", city="Paris"), "It rains in Paris.")
...                               # an agent with this model gets a message: it calls `find`, then answers
assert len(model.requests) == 2   # the requests that the model received, in order
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any, Self

from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class TextChunks:
    texts: tuple[str, ...]
    error: Exception | None


type ScriptedAnswer = str | ToolCall | Sequence[ToolCall] | ModelResponse | TextChunks | BaseException
type AnswerFunction = Callable[[ModelRequest], ScriptedAnswer | Awaitable[ScriptedAnswer]]
type ScriptLine = ScriptedAnswer | AnswerFunction | Pause


class ScriptExhausted(ModelRequestRejected):
    """The script has no line for a request. The loop does not retry: its task fails with this text."""


def calls(name: str, /, **arguments: Any) -> ToolCall:
    """A line in which the model calls a tool; a tuple of these is several calls in one turn.

    For arguments that are not JSON write `ToolCall("", name, '{"city": "Par')`: the model replaces an empty id.
    """
    return ToolCall("", name, json.dumps(arguments))


def pause(seconds: float) -> Pause:
    """Delays the next line. The model is unavailable where that exceeds the request's timeout."""
    return Pause(seconds)


def stream(*pieces: str | Exception) -> TextChunks:
    """A text that a loop which streams receives in these pieces. An exception as the last piece breaks the stream."""
    *start, last = pieces
    texts = tuple(str(piece) for piece in (start if isinstance(last, Exception) else pieces))
    return TextChunks(texts, last if isinstance(last, Exception) else None)


class ScriptedModel(Model):
    """Answers each request with the next line: a text, one or several tool calls, a ModelResponse, an exception to
    raise, or a function of the request, async or not, that returns one of these.

    The position in the script belongs to the object, so a task that continues in another invocation of the same process
    continues in the script. A line that was cancelled or timed out is played again from its start. Where each
    invocation is another process there is no such object: use `from_function`.
    """

    def __init__(self, *script: ScriptLine, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.played_count = 0
        self._script = deque(script)
        self._function: AnswerFunction | None = None

    @classmethod
    def from_function(cls, function: AnswerFunction, *, name: str = "scripted") -> Self:
        """A model whose answers depend on the request alone. It never ends."""
        model = cls(name=name)
        model._function = function
        return model

    @property
    def remaining(self) -> int:
        """The number of lines that were not played yet, pauses included."""
        return len(self._script)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return _to_response(await self._next_answer(request), request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """The same in pieces: a text that is not scripted in pieces comes word by word."""
        answer = await self._next_answer(request)
        if isinstance(answer, TextChunks):
            for text in answer.texts:
                yield text
            yield _to_response(answer, request)
            return
        response = _to_response(answer, request)
        for word in re.findall(r"\S+\s*|\s+", response.text):
            yield word
        yield response

    async def _next_answer(self, request: ModelRequest) -> ScriptedAnswer:
        self.requests.append(request)
        pauses, line = self._take_line()
        try:
            async with asyncio.timeout(request.timeout):
                for seconds in pauses:
                    await asyncio.sleep(seconds)
                answer = await _resolve_answer(line, request)
        except TimeoutError:
            self._restore_line(pauses, line)
            raise ModelUnavailable(f"{self.name} did not answer within {request.timeout:g} s") from None
        except asyncio.CancelledError:
            self._restore_line(pauses, line)
            raise
        return answer

    def _take_line(self) -> tuple[list[float], ScriptedAnswer | AnswerFunction]:
        if self._function:
            self.played_count += 1
            return [], self._function
        pauses: list[float] = []
        while self._script:
            line = self._script.popleft()
            if not isinstance(line, Pause):
                self.played_count += 1
                return pauses, line
            pauses.append(line.seconds)
        raise ScriptExhausted(f"the script of {self.name} is over: {self.played_count} played, one more was asked for")

    def _restore_line(self, pauses: list[float], line: ScriptedAnswer | AnswerFunction) -> None:
        self.played_count -= 1
        if not self._function:
            self._script.extendleft([line, *map(Pause, reversed(pauses))])


async def _resolve_answer(line: ScriptedAnswer | AnswerFunction, request: ModelRequest) -> ScriptedAnswer:
    if not callable(line):
        return line
    answer = line(request)
    return await answer if isawaitable(answer) else answer


def _to_response(answer: ScriptedAnswer, request: ModelRequest) -> ModelResponse:
    """Raises the answer where it is an exception."""
    match answer:
        case BaseException():
            raise answer
        case str():
            return ModelResponse(answer)
        case TextChunks():
            if answer.error is not None:
                raise answer.error
            return ModelResponse("".join(answer.texts))
        case ModelResponse():
            return replace(answer, tool_calls=_with_ids(answer.tool_calls, request))
        case ToolCall():
            return ModelResponse(tool_calls=_with_ids([answer], request), finish_reason="tool_calls")
    return ModelResponse(tool_calls=_with_ids(answer, request), finish_reason="tool_calls")


def _with_ids(tool_calls: Sequence[ToolCall], request: ModelRequest) -> tuple[ToolCall, ...]:
    """Fills empty ids with the call's position: `call_2_1` is the first call of the second assistant turn."""
    turn = 1 + sum(earlier.role == "assistant" for earlier in request.turns)
    return tuple(
        call if call.id else replace(call, id=f"call_{turn}_{place}") for place, call in enumerate(tool_calls, start=1)
    )
