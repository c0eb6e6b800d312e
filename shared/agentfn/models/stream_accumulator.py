"""A reply put together from the pieces of a stream."""

import json
from dataclasses import dataclass, field
from typing import Any

from agentfn.models.messages import Call, Reply, Usage
from agentfn.models.openai_format import finish, signed


class Assembly:
    """Takes pieces as they come.

    Providers tell the pieces of parallel calls apart by index, by id or by neither: one that leaves an index out gets 0
    for it, some repeat id and name with each piece, some make up a new id for each.
    """

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[_Draft] = []
        self._latest: dict[int, _Draft] = {}
        self._thinking: list[dict[str, Any]] = []

    def text(self, piece: str) -> str:
        self._text.append(piece)
        return piece

    def call(self, index: int, id_: str, name: str, arguments: str) -> None:
        """A piece of one; what is not told in it is empty."""
        draft = self._draft(index, id_, name)
        draft.id, draft.name = draft.id or id_, draft.name or name
        draft.arguments.append(arguments)

    def think(self, block: dict[str, Any]) -> None:
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

    def reply(self, reason: str | None, spent: Usage | None = None) -> Reply:
        calls = tuple(Call(draft.id, draft.name, "".join(draft.arguments)) for draft in self._calls)
        return Reply("".join(self._text), calls, spent or Usage(), finish(reason, calls), signed(self._thinking))

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
