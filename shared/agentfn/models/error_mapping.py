"""What a client raised, as an error of ours: by the provider's words where they say more than the status."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from traceback import clear_frames
from typing import Any

from agentfn.errors import ContextWindowExceeded, ModelError, ModelRequestRejected, ModelUnavailable
from agentfn.telemetry import logger

# Of a provider's complaint, the characters that are logged, and how many in a row make it a quotation.
MAX_LOGGED_CHARS, MIN_QUOTE_CHARS = 300, 20
REQUEST_IDS = ("x-request-id", "request-id", "x-amzn-requestid")
# Refusals that may be different later; 424 is Bedrock's, for a stream that went wrong. Every status from 500 on counts
# as well.
TRANSIENT_STATUS = frozenset({408, 409, 424, 425, 429})
STATUS_REMEDIES = {
    401: "check AGENT_MODEL_API_KEY, the secret in AGENT_MODEL_SECRET, or the role of the function",
    402: "the account has no credit left",
    403: "the key or role may not use this model",
    404: "check the name in AGENT_MODEL and the address in AGENT_MODEL_API_BASE",
}
DEFAULT_REMEDY = "the transcript or a sampling option does not suit it; the log has its own words at level DEBUG"
# The same by what litellm or the provider calls the trouble, which says more than the status.
ERROR_REMEDIES = {
    "LLM Provider NOT provided": "AGENT_MODEL must read provider/model, for example openai/gpt-4o",
    "ContentPolicyViolationError": "its content filter stopped the request",
    "content_policy_violation": "its content filter stopped the request",
    "insufficient_quota": "the account's quota is used up",
}
# "Input is too long" and "Too many input tokens" are Bedrock's, "exceed context limit" and "prompt is too long"
# Anthropic's, the code OpenAI's; litellm knows most of them, some of them on one wire only.
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
    """An answer that is an error, of a door that has no exceptions of its own for it. `kind` is the provider's word."""

    def __init__(self, kind: str, status_code: int | None, message: str, headers: Any = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status_code = status_code
        self.headers = headers or {}


@contextmanager
def map_timeouts(name: str, seconds: float) -> Iterator[None]:
    """Tells a limit that was reached, and a package that is missing, as errors of ours."""
    try:
        yield
    except TimeoutError:
        raise ModelUnavailable(f"{name} did not answer within {seconds:g} s") from None
    except ImportError as error:
        raise ModelRequestRejected(f"{name} needs the package {error.name}, which is not installed") from error


@contextmanager
def map_decode_errors(name: str) -> Iterator[None]:
    """Around the reading of an answer, which may be anything: its faults are not ours."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        logger.debug("model | no answer in its shape", extra={"model": name, "fault": type(error).__name__})
        raise ModelUnavailable(f"{name} sent an answer in a shape that is none") from None


@contextmanager
def map_provider_errors(errors: tuple[type[Exception], ...], request: dict[str, Any]) -> Iterator[None]:
    """Raises ModelUnavailable or ModelRefused for any of these errors of a client.

    They have no cause, whose text may hold the key or the transcript.
    """
    try:
        yield
        return
    except errors as error:
        trouble = getattr(error, "original_exception", None) or error  # of a stream that broke, what broke it
        _log_error(request, trouble)
        failure = _to_model_error(request["model"], trouble)
        _clear_frames(error)
    raise failure from None


def _to_model_error(name: str, error: Any) -> ModelError:
    kind, status = getattr(error, "kind", type(error).__name__), getattr(error, "status_code", None)
    if kind == "AuthenticationError":  # a missing key never reaches a provider and has no status of its own
        status = 401
    complaint = f"{kind} {error} {getattr(error, 'body', None)}"
    symptom = next((remedy for sign, remedy in ERROR_REMEDIES.items() if sign in complaint), None)
    throttled = _is_throttled(error, complaint)
    if not throttled and (status == 413 or any(sign in complaint for sign in CONTEXT_LENGTH_ERRORS)):
        return ContextWindowExceeded(
            f"{name} refused the request ({kind}, status {status}): the transcript is too long for this model; "
            "set AGENTFN_MAX_HISTORY_CHARS to less"
        )
    if symptom is None and (throttled or status is None or status in TRANSIENT_STATUS or status >= 500):
        after = _retry_after(_headers(error))
        return ModelUnavailable(f"{name} is not available now ({kind}, status {status})", after)
    remedy = symptom or STATUS_REMEDIES.get(status or 0, DEFAULT_REMEDY)
    return ModelRequestRejected(f"{name} refused the request ({kind}, status {status}): {remedy}")


def _clear_frames(error: BaseException | None) -> None:
    """Its frames hold what of a response was not read to the end, which then is closed late, in tasks of its own."""
    while error is not None:
        clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _is_throttled(error: Any, complaint: str) -> bool:
    """Too many tokens a minute are no context that is too long, though litellm takes Bedrock's words for one."""
    answered = getattr(getattr(error, "response", None), "status_code", None)
    return answered == 429 or "throttl" in complaint.lower()


def _log_error(request: dict[str, Any], error: Any) -> None:
    """The provider's words help whoever sets an agent up, unless they repeat the transcript or the key."""
    words = str(error).replace(request.get("api_key") or "\0", "***")[: MAX_LOGGED_CHARS + MIN_QUOTE_CHARS]
    spoken = json.dumps(request["messages"], ensure_ascii=False)
    echoes = any(words[start : start + MIN_QUOTE_CHARS] in spoken for start in range(len(words) - MIN_QUOTE_CHARS + 1))
    headers = _headers(error)
    facts = {
        "model": request["model"],
        "status": getattr(error, "status_code", None),
        "request_id": next((headers[name] for name in REQUEST_IDS if name in headers), None),
        "words": "withheld, they repeat the transcript" if echoes else words[:MAX_LOGGED_CHARS],
    }
    logger.debug("model | no answer", extra=facts)


def _headers(error: Any) -> Any:
    """The answer's headers, which are in one of three places."""
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
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None
