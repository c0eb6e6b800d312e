"""The native tool protocol: the tool calls of the provider's own API."""

import dataclasses

from agentfn.loop.tool_protocols.tool_protocol import TOOLS_OFF_PROMPT, RetryPrompt, drop_calls
from agentfn.models import ModelRequest, ModelResponse

EMPTY_RESPONSE_PROMPT = "Your reply was empty. Call a tool or give your answer."


class NativeToolProtocol:
    """A `ToolProtocol` that passes requests and responses on. Only an empty response is unusable."""

    can_stream = True
    max_repeats = None

    def to_request(self, request: ModelRequest) -> ModelRequest:
        return request

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        if request.tool_choice == "none":
            response = drop_calls(response)
        if response.text.strip() or response.tool_calls or response.finish_reason == "content_filter":
            return response
        return RetryPrompt(TOOLS_OFF_PROMPT if request.tool_choice == "none" else EMPTY_RESPONSE_PROMPT)

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        return dataclasses.replace(response, tool_calls=())
