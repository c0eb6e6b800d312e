"""Any model that litellm knows, by its model string.

litellm is imported at the first question: the import costs seconds, and the read side of an agent never needs it.

Its connections belong to the event loop they were opened on. A process has one loop for its whole life, so they stay
warm from one invocation to the next; on a second loop litellm opens new ones, and whoever ends a loop before the
process ends calls `close` on it first.
"""

import asyncio
import gc
import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from agentfn.errors import ModelError, ModelRefused, ModelUnavailable
from agentfn.models.door import Prompt
from agentfn.models.messages import messages, reply
from agentfn.models.turn import Reply
from agentfn.telemetry import logger

# litellm keeps one client for each timeout it is told, so it is always told the same: the longest that Lambda allows.
LONGEST = 900.0
# Of a provider's complaint, the characters that are logged, and how many in a row make it a quotation.
WORDS, ECHO = 300, 20
# Refusals that may be different later. Every status from 500 on counts as well.
TRANSIENT = frozenset({408, 409, 425, 429})
REMEDIES = {
    401: "check AGENT_MODEL_API_KEY, the secret in AGENT_MODEL_SECRET, or the role of the function",
    402: "the account has no credit left",
    403: "the key or role may not use this model",
    404: "check the name in AGENT_MODEL and the address in AGENT_MODEL_API_BASE",
    413: "the transcript is too long for this model",
}
UNSUITED = "the transcript or a sampling option does not suit it; the log has its own words at level DEBUG"
# The same by what litellm or the provider calls the trouble, which says more than the status.
SYMPTOMS = {
    "LLM Provider NOT provided": "AGENT_MODEL must read provider/model, for example openai/gpt-4o",
    "ContextWindowExceededError": "the transcript is too long for this model",
    "ContentPolicyViolationError": "its content filter stopped the request",
    "content_policy_violation": "its content filter stopped the request",
    "insufficient_quota": "the account's quota is used up",
}


class LitellmModel:
    """`key` is called at each question, in a thread, so that a secret is read late and its rotation is noticed."""

    def __init__(self, name: str, *, key: Callable[[], str | None] = lambda: None, base: str | None = None) -> None:
        self.name = name
        self._key = key
        self._base = base

    async def ask(self, prompt: Prompt) -> Reply:
        try:
            async with asyncio.timeout(prompt.timeout):
                litellm, key = await asyncio.to_thread(lambda: (load(), self._key()))
                return await self._ask(litellm, prompt, self._request(prompt, key))
        except TimeoutError:
            raise ModelUnavailable(f"{self.name} did not answer within {prompt.timeout:g} s") from None
        except ImportError as error:
            raise ModelRefused(f"{self.name} needs the package {error.name}, which is not installed") from error

    async def _ask(self, litellm: Any, prompt: Prompt, request: dict[str, Any]) -> Reply:
        try:
            # As a call inside another one: litellm then leaves out its own logging, which would hold the messages and
            # go on after the answer, in a process that may be frozen by then.
            with litellm._internal_context.internal_sub_call():
                answer = await litellm.acompletion(**request)
        except litellm.exceptions.openai.OpenAIError as error:  # the root of litellm's exceptions
            if "tool_choice" in request and _disputes_tool_choice(error):
                softer = {name: value for name, value in request.items() if name != "tool_choice"}
                return await self._ask(litellm, prompt, softer)
            _log(request, error)
            # Without its cause, whose text may hold the key or parts of the transcript.
            raise _translated(self.name, error) from None
        spoken = reply(answer)
        if spoken is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return spoken

    def _request(self, prompt: Prompt, key: str | None) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.name,
            "messages": messages(prompt),
            "timeout": LONGEST,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **prompt.sampling.options(),
        }
        if prompt.tools:
            request["tools"] = list(prompt.tools)
            if prompt.tool_choice != "auto":  # the default, which some servers refuse to be told
                request["tool_choice"] = prompt.tool_choice
        optional = {"api_key": key, "api_base": self._base}
        return request | {name: value for name, value in optional.items() if value}


@cache
def load() -> Any:
    """litellm, imported once, without the network and without waking the garbage collector half-way."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # no reading of .env files
    collecting = gc.isenabled()
    gc.disable()
    try:
        litellm: Any = importlib.import_module("litellm")
    finally:
        if collecting:
            gc.enable()
    litellm.suppress_debug_info = True  # it prints advice to stdout otherwise
    # It prepares a request in a thread, which a cancel cannot stop: what comes out is thrown away, unsent.
    warnings.filterwarnings("ignore", r"coroutine '.*completion.*' was never awaited", RuntimeWarning)
    return litellm


async def close() -> None:
    """Ends all connections. The next question opens new ones."""
    litellm: Any = sys.modules.get("litellm")
    if litellm is not None:
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()


def _disputes_tool_choice(error: Any) -> bool:
    return getattr(error, "status_code", None) in (400, 422) and "tool_choice" in str(error)


def _translated(name: str, error: Any) -> ModelError:
    kind, status = type(error).__name__, getattr(error, "status_code", None)
    if kind == "AuthenticationError":  # a missing key never reaches a provider and has no status of its own
        status = 401
    complaint = f"{kind} {error} {getattr(error, 'body', None)}"
    symptom = next((remedy for sign, remedy in SYMPTOMS.items() if sign in complaint), None)
    if symptom is None and (status is None or status in TRANSIENT or status >= 500):
        after = _retry_after(_headers(error))
        return ModelUnavailable(f"{name} is not available now ({kind}, status {status})", after)
    remedy = symptom or REMEDIES.get(status or 0, UNSUITED)
    return ModelRefused(f"{name} refused the request ({kind}, status {status}): {remedy}")


def _log(request: dict[str, Any], error: Any) -> None:
    """The provider's words help whoever sets an agent up, unless they repeat the transcript or the key."""
    words = str(error).replace(request.get("api_key") or "\0", "***")[: WORDS + ECHO]
    spoken = json.dumps(request["messages"], ensure_ascii=False)
    echoes = any(words[start : start + ECHO] in spoken for start in range(len(words) - ECHO + 1))
    headers = _headers(error)
    facts = {
        "model": request["model"],
        "status": getattr(error, "status_code", None),
        "request_id": headers.get("x-request-id") or headers.get("request-id"),
        "words": "withheld, they repeat the transcript" if echoes else words[:WORDS],
    }
    logger.debug("model | no answer", extra=facts)


def _headers(error: Any) -> Any:
    """The answer's headers, which litellm keeps in one of two places."""
    response = getattr(error, "response", None)
    return getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None) or {}


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
