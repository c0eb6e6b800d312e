"""The transcript in OpenAI's chat words and back: what litellm takes and gives, and every door begins with."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from agentfn.models.messages import Call, Finish, Reply, Turn, Usage
from agentfn.models.model import Prompt

FINISH: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "refusal": "content_filter",
}
THINKING = ("type", "thinking", "signature", "data")
BLANK = "(empty)"  # Bedrock and Anthropic refuse blank text anywhere


def messages(prompt: Prompt, *, thinking: bool = False, signed_ids: bool = True) -> list[dict[str, Any]]:
    """The prompt as chat messages, with signed thinking where the provider takes it back.

    An assistant turn that says nothing is left out. litellm keeps Gemini's signatures in ids, which are longer than
    others take: `signed_ids` leaves them as they are.
    """
    system = [{"role": "system", "content": prompt.system}] if prompt.system.strip() else []
    spoken = [turn for turn in prompt.turns if turn.role != "assistant" or _speaks(turn)]
    return system + [_message(turn, signed_ids) | (_thought(turn) if thinking else {}) for turn in spoken]


def reply(answer: Any) -> Reply | None:
    """litellm's ModelResponse as a reply, None where it holds no answer at all.

    Ids are as they come, missing or doubled ones too: the loop, which sees the whole transcript, sees to them.
    """
    if not getattr(answer, "choices", None):
        return None
    choice = answer.choices[0]
    calls = tuple(
        Call(call.id or "", call.function.name or "", call.function.arguments or "")
        for call in choice.message.tool_calls or ()
    )
    thinking = signed(getattr(choice.message, "thinking_blocks", None) or ())
    spent = usage(answer.usage, answer._hidden_params.get("response_cost"))
    return Reply(choice.message.content or "", calls, spent, finish(choice.finish_reason, calls), thinking)


def finish(reason: str | None, calls: tuple[Call, ...]) -> Finish:
    """What a finish reason means, be it OpenAI's, Anthropic's or Bedrock's word."""
    return FINISH.get(reason or "", "tool_calls" if calls else "stop")


def signed(blocks: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """Thinking blocks without litellm's own additions. One that is not signed is of no use to anybody later."""
    return tuple(
        {name: block[name] for name in THINKING if block.get(name) is not None}
        for block in blocks
        if block.get("signature") or block.get("data")
    )


def usage(counted: Any, cost: float | None) -> Usage:
    """litellm's count. Zero where the provider counted nothing.

    `cost` is None where litellm knows no price: it says 0 of a new model whose family it knows.
    """
    if counted is None:
        return Usage()
    details = getattr(counted, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(counted.prompt_tokens or 0, counted.completion_tokens or 0, cached, cost or None)


def _thought(turn: Turn) -> dict[str, Any]:
    return {"thinking_blocks": list(turn.thinking)} if turn.thinking else {}


def _speaks(turn: Turn) -> bool:
    return bool(turn.calls or turn.text.strip())


def _message(turn: Turn, signed_ids: bool) -> dict[str, Any]:
    text = turn.text if turn.text.strip() else None
    if turn.role == "tool":
        named = {"tool_call_id": _id(turn.call_id, signed_ids), "name": _name(turn.name)}
        return {"role": "tool", **named, "content": text or BLANK}
    if not turn.calls:
        return {"role": turn.role, "content": text or BLANK}
    calls = [
        {
            "id": _id(call.id, signed_ids),
            "type": "function",
            "function": {"name": _name(call.name), "arguments": _object(call)},
        }
        for call in turn.calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _name(name: str) -> str:
    """A name that every provider takes back: models make up names that their own provider then refuses."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _id(call_id: str, signed: bool) -> str:
    """The id where every provider takes it back, else one made of it."""
    if (signed and "__thought__" in call_id) or re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def _object(call: Call) -> str:
    """What the model wrote where that is a JSON object; providers refuse to see anything else again."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments, parse_constant=_refuse), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _refuse(constant: str) -> None:
    """NaN and the infinities are Python's, not JSON's."""
    raise ValueError(constant)
