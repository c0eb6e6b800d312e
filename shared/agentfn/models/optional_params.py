"""What a provider is asked beside the transcript, and asked once more without where it does not take it."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from agentfn.models.model import ModelRequest

ChatRequest = dict[str, Any]

STREAM_OPTIONS = {"stream": True, "stream_options": {"include_usage": True}}
# Options that are wishes, and what a provider calls them where it does not take them. Thinking is given up where a
# transcript holds calls that another model made, without a thought before them.
OPTIONAL_PARAMS = {
    "tool_choice": ("tool_choice", "toolChoice"),
    "response_format": ("response_format", "json_schema", "output_format", "output_config", "outputConfig", "schema"),
    "stream_options": ("stream_options",),
    "reasoning_effort": ("Expected `thinking`", "thinking.type"),
}
# Options that a model lacks for good, and how a provider says so of one that it names.
SAMPLING_PARAMS = ("temperature", "max_tokens", "seed", "stop", "reasoning_effort")
UNSUPPORTED_PHRASES = ("unsupported", "not support", "unrecognized request argument", "deprecated for this model")


def request_options(prompt: ModelRequest, *, with_schema: bool) -> ChatRequest:
    """In OpenAI's words. `shaped` says that the model follows a schema."""
    request = prompt.sampling.options()
    if prompt.tools:
        request["tools"] = list(prompt.tools)
        if prompt.tool_choice != "auto":  # the default, which some servers refuse to be told
            request["tool_choice"] = prompt.tool_choice
    # Never beside tools: for some models litellm makes a forced call of it, which would shut the others out.
    elif prompt.schema and with_schema:
        request["response_format"] = _response_format(prompt.schema)
    return request


async def retry_without_unsupported[T](
    send: Callable[[ChatRequest], Awaitable[T]],
    request: ChatRequest,
    errors: tuple[type[Exception], ...],
    unsupported: set[str],
) -> T:
    """Asks, and asks again without what the provider disputes. `lacking` keeps what it never takes."""
    request = _drop_params(request, unsupported)
    while True:
        try:
            return await send(request)
        except errors as error:
            refused = _rejected_params(request, error)
            if not refused:
                raise
            request = _drop_params(request, refused)
            unsupported |= {option for option in SAMPLING_PARAMS if option in refused and _says_unsupported(error)}


def _rejected_params(request: ChatRequest, error: Any) -> set[str]:
    """The wishes in this request that the provider does not take."""
    if getattr(error, "status_code", None) not in (400, 422):
        return set()
    words = str(error)
    wishes = {wish for wish, signs in OPTIONAL_PARAMS.items() if any(sign in words for sign in signs)}
    lacks = (
        {option for option in SAMPLING_PARAMS if re.search(rf"\b{option}\b", words)}
        if _says_unsupported(error)
        else set()
    )
    return (wishes | lacks) & request.keys()


def _says_unsupported(error: Any) -> bool:
    return any(sign in str(error).lower() for sign in UNSUPPORTED_PHRASES)


def _drop_params(request: ChatRequest, refused: set[str]) -> ChatRequest:
    """OpenAI's reasoning models have another word for the one option that bounds an answer."""
    kept = {name: value for name, value in request.items() if name not in refused}
    return kept | ({"max_completion_tokens": request["max_tokens"]} if "max_tokens" in refused & request.keys() else {})


def _response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's option for it. Not strict: that way OpenAI would refuse each schema that leaves anything open."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": False}}
