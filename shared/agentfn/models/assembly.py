"""A reply put together from the chunks of litellm's stream."""

import json
from dataclasses import dataclass, field
from typing import Any

from agentfn.models.messages import finish, signed, usage
from agentfn.models.turn import Call, Reply


class Assembly:
    """Takes chunks as they come.

    Providers tell the pieces of parallel calls apart by index, by id or by neither: one that leaves an index out gets 0
    for it from litellm, some repeat id and name with each piece, some make up a new id for each.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[_Draft] = []
        self._latest: dict[int, _Draft] = {}
        self._thinking: list[dict[str, Any]] = []

    def add(self, chunk: Any) -> str:
        """The text in it."""
        delta = chunk.choices[0].delta if chunk.choices else None
        if delta is None:
            return ""
        for piece in delta.tool_calls or ():
            self._call(piece)
        for block in getattr(delta, "thinking_blocks", None) or ():
            self._think(block)
        text = delta.content or ""
        self._text.append(text)
        return text

    def reply(self, stream: Any) -> Reply | None:
        """None where the stream ended before the model did."""
        reason = stream.received_finish_reason or stream.intermittent_finish_reason
        if reason is None and not stream.received_any_finish_reason:
            return None
        calls = tuple(Call(draft.id, draft.name, "".join(draft.arguments)) for draft in self._calls)
        counted = next((chunk.usage for chunk in reversed(stream.chunks) if getattr(chunk, "usage", None)), None)
        spent = usage(counted, _price(stream, counted))
        return Reply("".join(self._text), calls, spent, finish(reason, calls), signed(self._thinking))

    def _call(self, piece: Any) -> None:
        id_, function = piece.id or "", piece.function
        draft = self._draft(piece.index or 0, id_, function.name or "")
        draft.id, draft.name = draft.id or id_, draft.name or function.name or ""
        draft.arguments.append(function.arguments or "")

    def _draft(self, index: int, id_: str, name: str) -> "_Draft":
        """The call that a piece belongs to, begun where it is a new one: only that has a name."""
        last = self._latest.get(index)
        same = next((draft for draft in (last, *self._calls) if draft and id_ and draft.id == id_), None)
        draft = same or last
        placed = same is not None and last is not None
        if draft is None or (name and draft.name and not placed and draft.ended(id_)):
            draft = _Draft()
            self._calls.append(draft)
        self._latest[index] = draft
        return draft

    def _think(self, block: dict[str, Any]) -> None:
        """Text comes in pieces until the signature, which is the last of a block."""
        last = self._thinking[-1] if self._thinking else {}
        if block.get("data"):
            self._thinking.append(dict(block))
        elif last.get("type") == "thinking" and not last["signature"]:
            last["thinking"] += block.get("thinking") or ""
            last["signature"] = block.get("signature") or ""
        elif not (block.get("signature") and block.get("signature") == last.get("signature")):
            text, signature = block.get("thinking") or "", block.get("signature") or ""
            self._thinking.append({"type": "thinking", "thinking": text, "signature": signature})


@dataclass
class _Draft:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def ended(self, id_: str) -> bool:
        """Where a name comes again: by a call of another id, else where the arguments are whole."""
        if id_ and self.id and id_ != self.id:
            return True
        try:
            json.loads("".join(self.arguments))
        except ValueError:
            return False
        return True


def _price(stream: Any, counted: Any) -> float | None:
    """As litellm reckons it for a plain answer."""
    if counted is None:
        return None
    import litellm

    whole = litellm.ModelResponse(model=stream.model, usage=counted)
    cost: float | None = stream.logging_obj.response_cost_calculator(result=whole)
    return cost
