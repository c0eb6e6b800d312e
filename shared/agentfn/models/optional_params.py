"""The parameters of a request beside its messages, and the retry without those that the provider rejects."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from agentfn.models.model import ModelRequest

ChatRequest = dict[str, Any]

STREAM_OPTIONS = {"stream": True, "stream_options": {"include_usage": True}}
# Parameters that a request can do without, and the words that a provider has for one that it rejects. Thinking is
# dropped where a transcript holds calls of another model, which have no thinking before them.
OPTIONAL_PARAMS = {
    "tool_choice": ("tool_choice", "toolChoice"),
    "response_format": ("response_format", "json_schema", "output_format", "output_config", "outputConfig", "schema"),
    "stream_options": ("stream_options",),
    "reasoning_effort": ("Expected `thinking`", "thinking.type"),
}
# Parameters that some models never support, and the phrases with which a provider says so.
SAMPLING_PARAMS = ("temperature", "max_tokens", "seed", "stop", "reasoning_effort")
UNSUPPORTED_PHRASES = ("unsupported", "not support", "unrecognized request argument", "deprecated for this model")


def request_options(request: ModelRequest, *, with_schema: bool) -> ChatRequest:
    """The parameters in OpenAI's format. `with_schema` says that the model supports a schema."""
    options = request.sampling.options()
    if request.tools:
        options["tools"] = list(request.tools)
        if request.tool_choice != "auto":  # the default, which some servers reject when it is sent
            options["tool_choice"] = request.tool_choice
    # Never beside tools: for some models litellm makes a forced call of it, which would exclude the other tools.
    elif request.schema and with_schema:
        options["response_format"] = _response_format(request.schema)
    return options


async def retry_without_unsupported[T](
    send: Callable[[ChatRequest], Awaitable[T]],
    request: ChatRequest,
    errors: tuple[type[Exception], ...],
    unsupported: set[str],
) -> T:
    """Sends the request, and sends it again without the parameters that the provider rejects.

    `unsupported` holds the parameters that the model never supports: they are left out, and new ones are added.
    """
    request = _drop_params(request, unsupported)
    while True:
        try:
            return await send(request)
        except errors as error:
            rejected = _rejected_params(request, error)
            if not rejected:
                raise
            request = _drop_params(request, rejected)
            unsupported |= {param for param in SAMPLING_PARAMS if param in rejected and _says_unsupported(error)}


def _rejected_params(request: ChatRequest, error: Any) -> set[str]:
    """The parameters of this request that the provider's error is about."""
    if getattr(error, "status_code", None) not in (400, 422):
        return set()
    text = str(error)
    optional = {param for param, words in OPTIONAL_PARAMS.items() if any(word in text for word in words)}
    sampling = {param for param in SAMPLING_PARAMS if re.search(rf"\b{param}\b", text)}
    return (optional | (sampling if _says_unsupported(error) else set())) & request.keys()


def _says_unsupported(error: Any) -> bool:
    return any(phrase in str(error).lower() for phrase in UNSUPPORTED_PHRASES)


def _drop_params(request: ChatRequest, params: set[str]) -> ChatRequest:
    """OpenAI's reasoning models have another name for `max_tokens`."""
    kept = {name: value for name, value in request.items() if name not in params}
    return kept | ({"max_completion_tokens": request["max_tokens"]} if "max_tokens" in params & request.keys() else {})


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's parameter for a schema. Not strict: OpenAI would reject every schema that leaves something open."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": False}}
