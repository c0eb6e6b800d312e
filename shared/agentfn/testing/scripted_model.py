"""A model that plays a script, so that agents are tested without a provider.

model = ScriptedModel(calls("find", city="Paris"), "It rains in Paris.")
...                               # an agent with this model gets a message: it calls `find`, then answers
assert len(model.prompts) == 2    # what the model was shown, in order
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
    end: Exception | None


type ScriptedAnswer = str | ToolCall | Sequence[ToolCall] | ModelResponse | TextChunks | BaseException
type AnswerFunction = Callable[[ModelRequest], ScriptedAnswer | Awaitable[ScriptedAnswer]]
type ScriptLine = ScriptedAnswer | AnswerFunction | Pause


class ScriptExhausted(ModelRequestRejected):
    """More was asked than the script holds. Refused for good, so that a loop ends its task and shows this text."""


def calls(name: str, /, **arguments: Any) -> ToolCall:
    """A line in which the model calls a tool; a tuple of these is several calls in one turn.

    For arguments that are not JSON write `Call("", name, '{"city": "Par')`: an empty id is filled in when it is played.
    """
    return ToolCall("", name, json.dumps(arguments))


def pause(seconds: float) -> Pause:
    """The next line takes its time. Past the prompt's timeout the model counts as unavailable."""
    return Pause(seconds)


def stream(*pieces: str | Exception) -> TextChunks:
    """A text that comes in these pieces to a loop that streams; an exception at the end is where it breaks off."""
    *start, last = pieces
    texts = tuple(str(piece) for piece in (start if isinstance(last, Exception) else pieces))
    return TextChunks(texts, last if isinstance(last, Exception) else None)


class ScriptedModel(Model):
    """Plays one line for each question: a text, a call or several, a Reply, an exception to raise, or a function of
    the prompt, async or not, that gives one of these.

    The place in the script belongs to the object, so a task that goes on in another invocation of the same process
    goes on in the script. A line that was cancelled or timed out gave no answer and is played again from its start.
    Where each invocation is a process of its own there is no such object: use `by_turn`.
    """

    def __init__(self, *script: ScriptLine, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[ModelRequest] = []
        self.played_count = 0
        self._script = deque(script)
        self._function: AnswerFunction | None = None

    @classmethod
    def from_function(cls, answering: AnswerFunction, *, name: str = "scripted") -> Self:
        """A model without end, whose answer follows from the prompt and nothing else."""
        model = cls(name=name)
        model._function = answering
        return model

    @property
    def remaining(self) -> int:
        """Lines that were not played yet, pauses included."""
        return len(self._script)

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        return _to_response(await self._next_answer(prompt), prompt)

    async def stream(self, prompt: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """The same, piece by piece: a text that is not scripted in pieces comes word by word."""
        answer = await self._next_answer(prompt)
        if isinstance(answer, TextChunks):
            for text in answer.texts:
                yield text
            yield _to_response(answer, prompt)
            return
        reply = _to_response(answer, prompt)
        for word in re.findall(r"\S+\s*|\s+", reply.text):
            yield word
        yield reply

    async def _next_answer(self, prompt: ModelRequest) -> ScriptedAnswer:
        self.requests.append(prompt)
        pauses, line = self._take_line()
        try:
            async with asyncio.timeout(prompt.timeout):
                for seconds in pauses:
                    await asyncio.sleep(seconds)
                answer = await _resolve_answer(line, prompt)
        except TimeoutError:
            self._restore_line(pauses, line)
            raise ModelUnavailable(f"{self.name} did not answer within {prompt.timeout:g} s") from None
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


async def _resolve_answer(line: ScriptedAnswer | AnswerFunction, prompt: ModelRequest) -> ScriptedAnswer:
    if not callable(line):
        return line
    answer = line(prompt)
    return await answer if isawaitable(answer) else answer


def _to_response(answer: ScriptedAnswer, prompt: ModelRequest) -> ModelResponse:
    """Raises the answer where it is an exception."""
    match answer:
        case BaseException():
            raise answer
        case str():
            return ModelResponse(answer)
        case TextChunks():
            if answer.end is not None:
                raise answer.end
            return ModelResponse("".join(answer.texts))
        case ModelResponse():
            return replace(answer, tool_calls=_with_ids(answer.tool_calls, prompt))
        case ToolCall():
            return ModelResponse(tool_calls=_with_ids([answer], prompt), finish_reason="tool_calls")
    return ModelResponse(tool_calls=_with_ids(answer, prompt), finish_reason="tool_calls")


def _with_ids(written: Sequence[ToolCall], prompt: ModelRequest) -> tuple[ToolCall, ...]:
    """Ids that say where a call was made: `call_2_1` is the first one of the second assistant turn."""
    turn = 1 + sum(earlier.role == "assistant" for earlier in prompt.turns)
    return tuple(
        call if call.id else replace(call, id=f"call_{turn}_{place}") for place, call in enumerate(written, start=1)
    )
