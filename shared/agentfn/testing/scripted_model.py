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
from agentfn.models import Call, Prompt, Reply


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Pieces:
    texts: tuple[str, ...]
    end: Exception | None


type Answer = str | Call | Sequence[Call] | Reply | Pieces | BaseException
type Answering = Callable[[Prompt], Answer | Awaitable[Answer]]
type Line = Answer | Answering | Pause


class ScriptOver(ModelRequestRejected):
    """More was asked than the script holds. Refused for good, so that a loop ends its task and shows this text."""


def calls(name: str, /, **arguments: Any) -> Call:
    """A line in which the model calls a tool; a tuple of these is several calls in one turn.

    For arguments that are not JSON write `Call("", name, '{"city": "Par')`: an empty id is filled in when it is played.
    """
    return Call("", name, json.dumps(arguments))


def pause(seconds: float) -> Pause:
    """The next line takes its time. Past the prompt's timeout the model counts as unavailable."""
    return Pause(seconds)


def stream(*pieces: str | Exception) -> Pieces:
    """A text that comes in these pieces to a loop that streams; an exception at the end is where it breaks off."""
    *start, last = pieces
    texts = tuple(str(piece) for piece in (start if isinstance(last, Exception) else pieces))
    return Pieces(texts, last if isinstance(last, Exception) else None)


class ScriptedModel:
    """Plays one line for each question: a text, a call or several, a Reply, an exception to raise, or a function of
    the prompt, async or not, that gives one of these.

    The place in the script belongs to the object, so a task that goes on in another invocation of the same process
    goes on in the script. A line that was cancelled or timed out gave no answer and is played again from its start.
    Where each invocation is a process of its own there is no such object: use `by_turn`.
    """

    def __init__(self, *script: Line, name: str = "scripted") -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self.played = 0
        self._script = deque(script)
        self._always: Answering | None = None

    @classmethod
    def by_turn(cls, answering: Answering, *, name: str = "scripted") -> Self:
        """A model without end, whose answer follows from the prompt and nothing else."""
        model = cls(name=name)
        model._always = answering
        return model

    @property
    def left(self) -> int:
        """Lines that were not played yet, pauses included."""
        return len(self._script)

    async def ask(self, prompt: Prompt) -> Reply:
        return _reply(await self._answer(prompt), prompt)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Reply]:
        """The same, piece by piece: a text that is not scripted in pieces comes word by word."""
        answer = await self._answer(prompt)
        if isinstance(answer, Pieces):
            for text in answer.texts:
                yield text
            yield _reply(answer, prompt)
            return
        reply = _reply(answer, prompt)
        for word in re.findall(r"\S+\s*|\s+", reply.text):
            yield word
        yield reply

    async def _answer(self, prompt: Prompt) -> Answer:
        self.prompts.append(prompt)
        pauses, line = self._take()
        try:
            async with asyncio.timeout(prompt.timeout):
                for seconds in pauses:
                    await asyncio.sleep(seconds)
                answer = await _answer(line, prompt)
        except TimeoutError:
            self._put_back(pauses, line)
            raise ModelUnavailable(f"{self.name} did not answer within {prompt.timeout:g} s") from None
        except asyncio.CancelledError:
            self._put_back(pauses, line)
            raise
        return answer

    def _take(self) -> tuple[list[float], Answer | Answering]:
        if self._always:
            self.played += 1
            return [], self._always
        pauses: list[float] = []
        while self._script:
            line = self._script.popleft()
            if not isinstance(line, Pause):
                self.played += 1
                return pauses, line
            pauses.append(line.seconds)
        raise ScriptOver(f"the script of {self.name} is over: {self.played} played, one more was asked for")

    def _put_back(self, pauses: list[float], line: Answer | Answering) -> None:
        self.played -= 1
        if not self._always:
            self._script.extendleft([line, *map(Pause, reversed(pauses))])


async def _answer(line: Answer | Answering, prompt: Prompt) -> Answer:
    if not callable(line):
        return line
    answer = line(prompt)
    return await answer if isawaitable(answer) else answer


def _reply(answer: Answer, prompt: Prompt) -> Reply:
    """Raises the answer where it is an exception."""
    match answer:
        case BaseException():
            raise answer
        case str():
            return Reply(answer)
        case Pieces():
            if answer.end is not None:
                raise answer.end
            return Reply("".join(answer.texts))
        case Reply():
            return replace(answer, calls=_identified(answer.calls, prompt))
        case Call():
            return Reply(calls=_identified([answer], prompt), finish="tool_calls")
    return Reply(calls=_identified(answer, prompt), finish="tool_calls")


def _identified(written: Sequence[Call], prompt: Prompt) -> tuple[Call, ...]:
    """Ids that say where a call was made: `call_2_1` is the first one of the second assistant turn."""
    turn = 1 + sum(earlier.role == "assistant" for earlier in prompt.turns)
    return tuple(
        call if call.id else replace(call, id=f"call_{turn}_{place}") for place, call in enumerate(written, start=1)
    )
