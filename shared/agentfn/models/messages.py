"""The transcript in OpenAI's chat words and back, which is what litellm takes and gives for every provider."""

import json
import re
from typing import Any

from agentfn.models.door import Prompt
from agentfn.models.turn import Call, Finish, Reply, Turn, Usage

FINISH: dict[str, Finish] = {"length": "length", "content_filter": "content_filter"}
BLANK = "(empty)"  # Bedrock and Anthropic refuse blank text anywhere


def messages(prompt: Prompt) -> list[dict[str, Any]]:
    """The prompt as chat messages. An assistant turn that says nothing is left out."""
    system = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return system + [_message(turn) for turn in prompt.turns if turn.role != "assistant" or _speaks(turn)]


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
    finish = FINISH.get(choice.finish_reason, "tool_calls" if calls else "stop")
    return Reply(choice.message.content or "", calls, _usage(answer), finish)


def _speaks(turn: Turn) -> bool:
    return bool(turn.calls or turn.text.strip())


def _message(turn: Turn) -> dict[str, Any]:
    text = turn.text if turn.text.strip() else None
    if turn.role == "tool":
        named = {"tool_call_id": turn.call_id, "name": _name(turn.name)}
        return {"role": "tool", **named, "content": text or BLANK}
    if not turn.calls:
        return {"role": turn.role, "content": text or BLANK}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": _name(call.name), "arguments": _object(call)}}
        for call in turn.calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def _name(name: str) -> str:
    """A name that every provider takes back: models make up names that their own provider then refuses."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _object(call: Call) -> str:
    """What the model wrote where that is a JSON object; providers refuse to see anything else again."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments, parse_constant=_refuse), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _refuse(constant: str) -> None:
    """NaN and the infinities are Python's, not JSON's."""
    raise ValueError(constant)


def _usage(answer: Any) -> Usage:
    """Zero where the provider counted nothing; `cost` is None where litellm knows no price."""
    usage = answer.usage
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    cost = answer._hidden_params.get("response_cost")
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, cost)
