"""One turn of the model: the request is repeated until the response can be used."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ContextWindowExceeded
from agentfn.loop.history_window import char_budget, trim_history
from agentfn.loop.loop_events import LoopEvent, ModelTurn, Notice, TextDelta
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_options import LoopOptions
from agentfn.loop.model_retry import RetryingModel, common_prefix_length
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.loop.tool_protocols.protocol_selection import select_protocol
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocol
from agentfn.loop.transcript import sanitize_response, visible_turns, with_unique_ids
from agentfn.models import Model, ModelRequest, ModelResponse, Turn, Usage

MIN_HISTORY_CHARS = 2_000  # if even a transcript this short exceeds the context window, the error is raised


@dataclass(frozen=True)
class ModelTurnRunner:
    """Runs model turns: trims the history, calls the model, and asks again when a response is unusable."""

    model: RetryingModel
    protocol: ToolProtocol
    limits: LoopLimits

    async def run(self, step: int, request: ModelRequest, deadline: Deadline) -> AsyncGenerator[LoopEvent]:
        """The events of the turn; the last one is its ModelTurn. `request` holds the whole transcript.

        Unusable responses and their retry prompts are shown to the model but not saved. Their usage is counted.
        Raises DeadlineReached and ModelError.
        """
        retry_turns: list[Turn] = []
        usage = Usage()
        streamed = ""
        for retries in range(self.limits.max_retry_prompts + 1):
            async with contextlib.aclosing(self._request(step, request, retry_turns, deadline)) as items:
                async for item in items:
                    if isinstance(item, TextDelta):
                        streamed = streamed[: item.offset] + item.text
                    if isinstance(item, LoopEvent):
                        yield item
                    else:
                        response = sanitize_response(item)
            usage += response.usage
            if response.finish_reason == "content_filter":  # its tool calls may be incomplete: they are not run
                response = dataclasses.replace(response, tool_calls=())
            read = self.protocol.read_response(response, request)
            if isinstance(read, ModelResponse):
                response = read
                break
            if retries == self.limits.max_retry_prompts:
                response = self.protocol.fall_back(response)
                break
            yield Notice(step, f"the response is unusable; the model was told: {read.reason}")
            retry_turns += read.turns()
        response = sanitize_response(response)  # reading JSON can produce new surrogates
        calls = with_unique_ids(response.tool_calls, request.turns)
        turn = dataclasses.replace(response, tool_calls=calls, usage=usage).turn
        if self.model.streams and streamed != turn.text:
            offset = common_prefix_length(streamed, turn.text)
            yield TextDelta(step, turn.text[offset:], offset)
        runs_tools = any(call.name not in LIFECYCLE_TOOLS for call in calls)
        yield ModelTurn(step, turn, runs_tools, response.finish_reason)

    async def _request(
        self, step: int, request: ModelRequest, retry_turns: Sequence[Turn], deadline: Deadline
    ) -> AsyncGenerator[LoopEvent | ModelResponse]:
        """The response to as much of the transcript as the limits and the model's context window allow."""
        max_chars = char_budget(request.turns, self.limits.max_history_chars, self.limits.max_history_tokens)
        while True:
            turns = (*trim_history(visible_turns(request.turns), max_chars), *retry_turns)
            try:
                trimmed = self.protocol.to_request(dataclasses.replace(request, turns=turns))
                async with contextlib.aclosing(self.model.generate(step, trimmed, deadline)) as items:
                    async for item in items:
                        yield item
                return
            except ContextWindowExceeded as error:
                max_chars = min(max_chars, sum(len(turn.text) for turn in turns)) // 2
                if max_chars < MIN_HISTORY_CHARS:
                    raise
                yield Notice(step, f"{error}; asking again with the newest {max_chars:,} characters of the transcript")


async def create_model_turn_runner(model: Model, options: LoopOptions, limits: LoopLimits) -> ModelTurnRunner:
    """A runner with the tool protocol that the options name, or that suits the model."""
    protocol = await select_protocol(model, options.tool_protocol)
    retrying = RetryingModel(model, limits.retry_policy, stream=options.stream and protocol.can_stream)
    return ModelTurnRunner(retrying, protocol, limits)
