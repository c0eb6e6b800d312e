"""The transcript in OpenAI's chat words and back: what litellm takes and gives, and every door begins with."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from agentfn.models.messages import FinishReason, ModelResponse, ToolCall, Turn, Usage
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
EMPTY_TEXT = "(empty)"  # Bedrock and Anthropic refuse blank text anywhere


def chat_messages(prompt: ModelRequest, *, thinking: bool = False, signed_ids: bool = True) -> list[dict[str, Any]]:
    """The prompt as chat messages, with signed thinking where the provider takes it back.

    An assistant turn that says nothing is left out. litellm keeps Gemini's signatures in ids, which are longer than
    others take: `signed_ids` leaves them as they are.
    """
    system = [{"role": "system", "content": prompt.system}] if prompt.system.strip() else []
    spoken = [turn for turn in prompt.turns if turn.role != "assistant" or _has_content(turn)]
    return system + [_chat_message(turn, signed_ids) | (_thinking_fields(turn) if thinking else {}) for turn in spoken]


def response_from_litellm(answer: Any) -> ModelResponse | None:
    """litellm's ModelResponse as a reply, None where it holds no answer at all.

    Ids are as they come, missing or doubled ones too: the loop, which sees the whole transcript, sees to them.
    """
    if not getattr(answer, "choices", None):
        return None
    choice = answer.choices[0]
    calls = tuple(
        ToolCall(call.id or "", call.function.name or "", call.function.arguments or "")
        for call in choice.message.tool_calls or ()
    )
    thinking = signed_thinking(getattr(choice.message, "thinking_blocks", None) or ())
    spent = usage_from_litellm(answer.usage, answer._hidden_params.get("response_cost"))
    return ModelResponse(
        choice.message.content or "", calls, spent, finish_reason(choice.finish_reason, calls), thinking
    )


def finish_reason(reason: str | None, calls: tuple[ToolCall, ...]) -> FinishReason:
    """What a finish reason means, be it OpenAI's, Anthropic's or Bedrock's word."""
    return FINISH_REASONS.get(reason or "", "tool_calls" if calls else "stop")


def signed_thinking(blocks: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """Thinking blocks without litellm's own additions. One that is not signed is of no use to anybody later."""
    return tuple(
        {name: block[name] for name in THINKING_FIELDS if block.get(name) is not None}
        for block in blocks
        if block.get("signature") or block.get("data")
    )


def usage_from_litellm(counted: Any, cost: float | None) -> Usage:
    """litellm's count. Zero where the provider counted nothing.

    `cost` is None where litellm knows no price: it says 0 of a new model whose family it knows.
    """
    if counted is None:
        return Usage()
    details = getattr(counted, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(counted.prompt_tokens or 0, counted.completion_tokens or 0, cached, cost or None)


def _thinking_fields(turn: Turn) -> dict[str, Any]:
    return {"thinking_blocks": list(turn.thinking)} if turn.thinking else {}


def _has_content(turn: Turn) -> bool:
    return bool(turn.tool_calls or turn.text.strip())


def _chat_message(turn: Turn, signed_ids: bool) -> dict[str, Any]:
    text = turn.text if turn.text.strip() else None
    if turn.role == "tool":
        named = {"tool_call_id": _safe_id(turn.tool_call_id, signed_ids), "name": _safe_name(turn.tool_name)}
        return {"role": "tool", **named, "content": text or EMPTY_TEXT}
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
    """A name that every provider takes back: models make up names that their own provider then refuses."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _safe_id(call_id: str, signed: bool) -> str:
    """The id where every provider takes it back, else one made of it."""
    if (signed and "__thought__" in call_id) or re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def _json_arguments(call: ToolCall) -> str:
    """What the model wrote where that is a JSON object; providers refuse to see anything else again."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments, parse_constant=_reject_constant), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _reject_constant(constant: str) -> None:
    """NaN and the infinities are Python's, not JSON's."""
    raise ValueError(constant)
