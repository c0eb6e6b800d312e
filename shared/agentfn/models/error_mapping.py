"""Maps the errors of a provider's client to ModelError, by their text where it says more than the status."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from traceback import clear_frames
from typing import Any

from agentfn.errors import ContextWindowExceeded, ModelError, ModelRequestRejected, ModelUnavailable
from agentfn.telemetry import logger

MAX_LOGGED_CHARS = 300  # of a provider's error text
MIN_QUOTE_CHARS = 20  # so many characters in a row that are in the request too make the text a quotation of it
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid")
# With these, and every status from 500 on, another try may help. 424 is Bedrock's, for a stream that failed.
TRANSIENT_STATUS = frozenset({408, 409, 424, 425, 429})
STATUS_REMEDIES = {
    401: "check AGENT_MODEL_API_KEY, the secret in AGENT_MODEL_SECRET, or the role of the function",
    402: "the account has no credit left",
    403: "the key or role may not use this model",
    404: "check the name in AGENT_MODEL and the address in AGENT_MODEL_API_BASE",
}
DEFAULT_REMEDY = "the transcript or a sampling option does not suit it; the log has its own words at level DEBUG"
# Remedies by what litellm or the provider calls the error, which says more than the status.
ERROR_REMEDIES = {
    "LLM Provider NOT provided": "AGENT_MODEL must read provider/model, for example openai/gpt-4o",
    "ContentPolicyViolationError": "its content filter stopped the request",
    "content_policy_violation": "its content filter stopped the request",
    "insufficient_quota": "the account's quota is used up",
}
# "Input is too long" and "Too many input tokens" are Bedrock's, "exceed context limit" and "prompt is too long"
# Anthropic's, "context_length_exceeded" OpenAI's; litellm maps most of them, some for one API only.
CONTEXT_LENGTH_ERRORS = (
    "ContextWindowExceededError",
    "context_length_exceeded",
    "exceed context limit",
    "prompt is too long",
    "Input is too long",
    "Too many input tokens",
    "request_too_large",
    "maximum context length",
)


class ProviderError(Exception):
    """A provider's error response, where its client has no exception for it. `kind` is the provider's name for it."""

    def __init__(self, kind: str, status_code: int | None, message: str, headers: Any = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status_code = status_code
        self.headers = headers or {}


@contextmanager
def map_timeouts(name: str, seconds: float) -> Iterator[None]:
    """Raises ModelUnavailable for a timeout after so many seconds, ModelRequestRejected for a missing package."""
    try:
        yield
    except TimeoutError:
        raise ModelUnavailable(f"{name} did not answer within {seconds:g} s") from None
    except ImportError as error:
        raise ModelRequestRejected(f"{name} needs the package {error.name}, which is not installed") from error


@contextmanager
def map_decode_errors(name: str) -> Iterator[None]:
    """Raises ModelUnavailable where the code inside cannot read a response, which may hold anything."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        logger.debug("model | response not readable", extra={"model": name, "error": type(error).__name__})
        raise ModelUnavailable(f"{name} sent an answer that cannot be read") from None


@contextmanager
def map_provider_errors(errors: tuple[type[Exception], ...], request: dict[str, Any]) -> Iterator[None]:
    """Raises ModelUnavailable or ModelRequestRejected for any of these errors of a client.

    It is raised without a cause, whose text may hold the API key or the transcript.
    """
    try:
        yield
        return
    except errors as error:
        original = getattr(error, "original_exception", None) or error  # litellm's, where a stream broke off
        _log_error(request, original)
        failure = _to_model_error(request["model"], original)
        _clear_frames(error)
    raise failure from None


def _to_model_error(name: str, error: Any) -> ModelError:
    kind, status = getattr(error, "kind", type(error).__name__), getattr(error, "status_code", None)
    if kind == "AuthenticationError":  # litellm raises it for a missing key, without a status
        status = 401
    text = f"{kind} {error} {getattr(error, 'body', None)}"
    remedy = next((remedy for sign, remedy in ERROR_REMEDIES.items() if sign in text), None)
    throttled = _is_throttled(error, text)
    if not throttled and (status == 413 or any(sign in text for sign in CONTEXT_LENGTH_ERRORS)):
        return ContextWindowExceeded(
            f"{name} refused the request ({kind}, status {status}): the transcript is too long for this model; "
            "set AGENTFN_MAX_HISTORY_CHARS to less"
        )
    if remedy is None and (throttled or status is None or status in TRANSIENT_STATUS or status >= 500):
        after = _retry_after(_headers(error))
        return ModelUnavailable(f"{name} is not available now ({kind}, status {status})", after)
    remedy = remedy or STATUS_REMEDIES.get(status or 0, DEFAULT_REMEDY)
    return ModelRequestRejected(f"{name} refused the request ({kind}, status {status}): {remedy}")


def _clear_frames(error: BaseException | None) -> None:
    """The frames hold responses that were not read to the end: the event loop would close those late, in tasks."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _is_throttled(error: Any, text: str) -> bool:
    """Whether the rate limit was hit: litellm mistakes Bedrock's text for a context that is too long."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status == 429 or "throttl" in text.lower()


def _log_error(request: dict[str, Any], error: Any) -> None:
    """Logs the provider's error text without the API key. A text that repeats the transcript is withheld."""
    text = str(error).replace(request.get("api_key") or "\0", "***")[: MAX_LOGGED_CHARS + MIN_QUOTE_CHARS]
    messages = json.dumps(request["messages"], ensure_ascii=False)
    starts = range(len(text) - MIN_QUOTE_CHARS + 1)
    quotes = any(text[start : start + MIN_QUOTE_CHARS] in messages for start in starts)
    headers = _headers(error)
    facts = {
        "model": request["model"],
        "status": getattr(error, "status_code", None),
        "request_id": next((headers[name] for name in REQUEST_IDS if name in headers), None),
        "error": "withheld: it repeats the transcript" if quotes else text[:MAX_LOGGED_CHARS],
    }
    logger.debug("model | request failed", extra=facts)


def _headers(error: Any) -> Any:
    """The response's headers, which are in one of three places."""
    own = getattr(error, "litellm_response_headers", None) or getattr(error, "headers", None)
    return own or getattr(getattr(error, "response", None), "headers", None) or {}


def _retry_after(headers: Any) -> float | None:
    """Seconds from a Retry-After header, which is a number or a date, or None. RFC 9110, section 10.2.3."""
    value = headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # not a date, or one without a time zone
        return None
