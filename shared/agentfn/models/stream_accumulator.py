"""A response assembled from the pieces of a stream."""

import json
from dataclasses import dataclass, field
from typing import Any

from agentfn.models.messages import ModelResponse, ToolCall, Usage
from agentfn.models.openai_format import finish_reason, signed_thinking


class StreamAccumulator:
    """Collects the pieces of a stream in their order.

    Providers mark the pieces of parallel tool calls by index, by id or not at all: some leave the index out (it is 0
    then), some repeat id and name with each piece, some invent a new id for each piece.
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
        """Adds a piece of a tool call. A field that the piece does not have is empty."""
        draft = self._find_draft(index, id_, name)
        draft.id, draft.name = draft.id or id_, draft.name or name
        draft.arguments.append(arguments)

    def add_thinking(self, block: dict[str, Any]) -> None:
        """Adds a piece of a thinking block. The signature is the last piece of a block."""
        last = self._thinking[-1] if self._thinking else {}
        if block.get("data"):
            self._thinking.append(dict(block))
        elif last.get("type") == "thinking" and not last["signature"]:
            last["thinking"] += block.get("thinking") or ""
            last["signature"] = block.get("signature") or ""
        elif not (block.get("signature") and block.get("signature") == last.get("signature")):
            text, signature = block.get("thinking") or "", block.get("signature") or ""
            self._thinking.append({"type": "thinking", "thinking": text, "signature": signature})

    def to_response(self, reason: str | None, usage: Usage | None = None) -> ModelResponse:
        calls = tuple(ToolCall(draft.id, draft.name, "".join(draft.arguments)) for draft in self._drafts)
        text, thinking = "".join(self._text_pieces), signed_thinking(self._thinking)
        return ModelResponse(text, calls, usage or Usage(), finish_reason(reason, calls), thinking)

    def _find_draft(self, index: int, id_: str, name: str) -> "_ToolCallDraft":
        """The call that a piece belongs to. Only a piece with a name begins a new one."""
        last = self._latest_by_index.get(index)
        same_id = next((draft for draft in (last, *self._drafts) if draft and id_ and draft.id == id_), None)
        draft = same_id or last
        is_known = same_id is not None and last is not None
        if draft is None or (name and draft.name and not is_known and draft.is_complete(id_)):
            draft = _ToolCallDraft()
            self._drafts.append(draft)
        self._latest_by_index[index] = draft
        return draft


@dataclass
class _ToolCallDraft:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def is_complete(self, next_id: str) -> bool:
        """Whether a second name begins another call: where it has another id, or these arguments are whole."""
        if next_id and self.id and next_id != self.id:
            return True
        try:
            json.loads("".join(self.arguments))
        except ValueError:
            return False
        return True
