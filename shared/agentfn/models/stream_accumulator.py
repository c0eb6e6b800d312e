"""A reply put together from the pieces of a stream."""

import json
from dataclasses import dataclass, field
from typing import Any

from agentfn.models.messages import ModelResponse, ToolCall, Usage
from agentfn.models.openai_format import finish_reason, signed_thinking


class StreamAccumulator:
    """Takes pieces as they come.

    Providers tell the pieces of parallel calls apart by index, by id or by neither: one that leaves an index out gets 0
    for it, some repeat id and name with each piece, some make up a new id for each.
    """

    def __init__(self) -> None:
        self._text_pieces: list[str] = []
        self._drafts: list[_ToolCallDraft] = []
        self._latest_by_index: dict[int, _ToolCallDraft] = {}
        self._thinking: list[dict[str, Any]] = []

    def add_text(self, piece: str) -> str:
        self._text_pieces.append(piece)
        return piece

    def add_tool_call(self, index: int, id_: str, name: str, arguments: str) -> None:
        """A piece of one; what is not told in it is empty."""
        draft = self._find_draft(index, id_, name)
        draft.id, draft.name = draft.id or id_, draft.name or name
        draft.arguments.append(arguments)

    def add_thinking(self, block: dict[str, Any]) -> None:
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

    def to_response(self, reason: str | None, spent: Usage | None = None) -> ModelResponse:
        calls = tuple(ToolCall(draft.id, draft.name, "".join(draft.arguments)) for draft in self._drafts)
        return ModelResponse(
            "".join(self._text_pieces),
            calls,
            spent or Usage(),
            finish_reason(reason, calls),
            signed_thinking(self._thinking),
        )

    def _find_draft(self, index: int, id_: str, name: str) -> "_ToolCallDraft":
        """The call that a piece belongs to, begun where it is a new one: only that has a name."""
        last = self._latest_by_index.get(index)
        same = next((draft for draft in (last, *self._drafts) if draft and id_ and draft.id == id_), None)
        draft = same or last
        placed = same is not None and last is not None
        if draft is None or (name and draft.name and not placed and draft.is_complete(id_)):
            draft = _ToolCallDraft()
            self._drafts.append(draft)
        self._latest_by_index[index] = draft
        return draft


@dataclass
class _ToolCallDraft:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def is_complete(self, id_: str) -> bool:
        """Where a name comes again: by a call of another id, else where the arguments are whole."""
        if id_ and self.id and id_ != self.id:
            return True
        try:
            json.loads("".join(self.arguments))
        except ValueError:
            return False
        return True
