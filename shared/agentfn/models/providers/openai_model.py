"""A model behind OpenAI's chat completions API, called with the official client.

Only the client's core is used: the import of its typed methods takes as much CPU as all the rest.
Source: https://platform.openai.com/docs/api-reference/chat
"""

import gc
import importlib
import json
from functools import cache
from typing import Any

from agentfn.errors import ModelRequestRejected
from agentfn.models import profiles
from agentfn.models.error_mapping import STATUS_REMEDIES, ProviderError
from agentfn.models.messages import ModelResponse, ToolCall
from agentfn.models.model import ModelRequest
from agentfn.models.openai_format import chat_messages, finish_reason
from agentfn.models.optional_params import ChatRequest, request_options
from agentfn.models.prices import ModelInfo, TokenCounts
from agentfn.models.providers.http_client import get_or_create, shared_client
from agentfn.models.providers.http_model import ErrorTypes, HttpModel, ParsedResponse, RequestSetup
from agentfn.models.stream_accumulator import StreamAccumulator

INTERNAL_FIELDS = ("model", "api_key")


class _ChatStreamDecoder:
    """Decodes server-sent events. Source: https://platform.openai.com/docs/api-reference/chat-streaming"""

    def __init__(self) -> None:
        self.done = False
        self._accumulator = StreamAccumulator()
        self._partial_line = b""
        self._finish_reason: str | None = None
        self._token_counts = TokenCounts()

    def feed(self, piece: bytes) -> list[str]:
        *lines, self._partial_line = (self._partial_line + piece).split(b"\n")
        return [text for line in lines if line.startswith(b"data:") and (text := self._handle_data(line[5:].strip()))]

    def result(self) -> ParsedResponse | None:
        if not (self.done or self._finish_reason):
            return None
        return self._accumulator.to_response(self._finish_reason), self._token_counts

    def _handle_data(self, data: bytes) -> str:
        if data == b"[DONE]":
            self.done = True
            return ""
        chunk = json.loads(data)
        if error := chunk.get("error"):
            raise _provider_error(error)
        self._token_counts = _parse_token_counts(chunk.get("usage")) or self._token_counts
        choice = (chunk.get("choices") or [{}])[0]
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta") or {}
        for piece in delta.get("tool_calls") or ():
            function = piece.get("function") or {}
            name, arguments = function.get("name") or "", _arguments_text(function.get("arguments"))
            self._accumulator.add_tool_call(piece.get("index") or 0, piece.get("id") or "", name, arguments)
        return self._accumulator.add_text(_content_text(delta.get("content")))


class OpenAIModel(HttpModel):
    """`name` is the model's, with or without the prefix `openai/`. `base_url` is the server's address, up to `/v1`.

    Without an API key it takes the one in OPENAI_API_KEY, as the official client does.
    """

    decoder = _ChatStreamDecoder
    api_key_variable = "OPENAI_API_KEY"

    def warm_up(self) -> None:
        load_openai()

    def _create_sender(self, api_key: str | None) -> Any:
        if not api_key:
            raise ModelRequestRejected(f"{self.name} was not called, there is no API key: {STATUS_REMEDIES[401]}")
        return load_openai()

    def _build_request(self, request: ModelRequest, info: ModelInfo) -> ChatRequest:
        messages = [
            {field: value for field, value in message.items() if field != "name"}
            for message in chat_messages(request, signed_ids=False)
        ]
        return {"messages": messages, **request_options(request, with_schema=profiles.supports_schema(info))}

    async def _send(self, setup: RequestSetup, chat_request: ChatRequest, *, streamed: bool) -> Any:
        openai, key = setup.sender, setup.api_key

        def create() -> Any:
            return openai.AsyncOpenAI(api_key=key, base_url=self._base_url, max_retries=0, http_client=shared_client())

        client = get_or_create(("openai", key, self._base_url), create)
        fields = {name: value for name, value in chat_request.items() if name not in INTERNAL_FIELDS}
        body = {"model": self.name.removeprefix("openai/"), **fields}
        if not streamed:
            import httpx

            return await client.post("/chat/completions", cast_to=httpx.Response, body=body)
        stream_type = openai.AsyncStream[object]
        stream = await client.post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=stream_type)
        return stream.response

    def _client_errors(self) -> ErrorTypes:
        import httpx

        return load_openai().OpenAIError, httpx.HTTPError, ProviderError

    def _parse_response(self, body: Any) -> ParsedResponse | None:
        if not body.get("choices"):
            return None
        choice = body["choices"][0]
        text = _content_text(choice["message"].get("content"))
        calls = tuple(map(_parse_tool_call, choice["message"].get("tool_calls") or ()))
        reason = finish_reason(choice.get("finish_reason"), calls)
        counts = _parse_token_counts(body.get("usage")) or TokenCounts()
        return ModelResponse(text, calls, finish_reason=reason), counts


@cache
def load_openai() -> Any:
    """The official client, imported once, without a run of the garbage collector during the import."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module("openai")
    finally:
        if collecting:
            gc.enable()


def _provider_error(error: Any) -> ProviderError:
    """An error in the middle of a stream has no status."""
    if not isinstance(error, dict):
        return ProviderError("error", None, str(error))
    kind = error.get("code") or error.get("type") or "error"
    return ProviderError(str(kind), None, f"{error.get('type')} {error.get('message')}")


def _parse_tool_call(call: Any) -> ToolCall:
    function = call["function"]
    return ToolCall(call.get("id") or "", function["name"] or "", _arguments_text(function.get("arguments")))


def _content_text(content: Any) -> str:
    """Some servers send parts, of which one may be thinking."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return str(content or "")


def _arguments_text(arguments: Any) -> str:
    """Some servers send the object itself."""
    return arguments or "" if isinstance(arguments, str | None) else json.dumps(arguments, ensure_ascii=False)


def _parse_token_counts(usage: Any) -> TokenCounts | None:
    if not usage:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return TokenCounts(usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, cached)
