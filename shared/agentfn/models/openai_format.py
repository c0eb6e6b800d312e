"""A request's transcript as OpenAI chat messages, the format that every provider starts from."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from agentfn.models.messages import FinishReason, ToolCall, Turn
from agentfn.models.model import ModelRequest

FINISH_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
}
THINKING_FIELDS = ("type", "thinking", "signature", "data")
EMPTY_TEXT = "(empty)"  # Bedrock and Anthropic reject blank text anywhere


def chat_messages(request: ModelRequest, *, thinking: bool = False, signed_ids: bool = True) -> list[dict[str, Any]]:
    """The request's transcript as chat messages. `thinking` adds the signed thinking blocks.

    An assistant turn without content is left out. litellm keeps Gemini's signatures in call ids, which are then longer
    than other providers accept: `signed_ids` keeps them.
    """
    system = [{"role": "system", "content": request.system}] if request.system.strip() else []
    turns = [turn for turn in request.turns if turn.role != "assistant" or _has_content(turn)]
    return system + [_chat_message(turn, signed_ids) | (_thinking_fields(turn) if thinking else {}) for turn in turns]


def finish_reason(reason: str | None, calls: tuple[ToolCall, ...]) -> FinishReason:
    """Maps the finish reason of OpenAI, Anthropic or Bedrock."""
    return FINISH_REASONS.get(reason or "", "tool_calls" if calls else "stop")


def signed_thinking(blocks: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """The thinking blocks that are signed, without litellm's additions. No provider accepts an unsigned one later."""
    return tuple(
        {name: block[name] for name in THINKING_FIELDS if block.get(name) is not None}
        for block in blocks
        if block.get("signature") or block.get("data")
    )


def _thinking_fields(turn: Turn) -> dict[str, Any]:
    return {"thinking_blocks": list(turn.thinking)} if turn.thinking else {}


def _has_content(turn: Turn) -> bool:
    return bool(turn.tool_calls or turn.text.strip())


def _chat_message(turn: Turn, signed_ids: bool) -> dict[str, Any]:
    text = turn.text if turn.text.strip() else None
    if turn.role == "tool":
        reference = {"tool_call_id": _safe_id(turn.tool_call_id, signed_ids), "name": _safe_name(turn.tool_name)}
        return {"role": "tool", **reference, "content": text or EMPTY_TEXT}
    if not turn.tool_calls:
        return {"role": turn.role, "content": text or EMPTY_TEXT}
    calls = [
        {
            "id": _safe_id(call.id, signed_ids),
            "type": "function",
            "function": {"name": _safe_name(call.name), "arguments": _json_arguments(call)},
        }
        for call in turn.tool_calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _safe_name(name: str) -> str:
    """A name that every provider accepts: models invent names that their own provider then rejects."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _safe_id(call_id: str, signed: bool) -> str:
    """The id where every provider accepts it, else its hash."""
    if (signed and "__thought__" in call_id) or re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def _json_arguments(call: ToolCall) -> str:
    """The arguments where they are a JSON object, else an empty object: providers reject anything else."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments, parse_constant=_reject_constant), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _reject_constant(constant: str) -> None:
    """NaN and the infinities are Python's, not JSON's."""
    raise ValueError(constant)
