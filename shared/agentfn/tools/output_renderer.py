"""A tool's outcome in the words that the model reads."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentfn.tools import File, FileInfo, Link, Output, Workspace
from agentfn.tools.tool_arguments import Mistake
from agentfn.tools.tool_output import link_in

EMPTY = "(no output)"


@dataclass(frozen=True)
class Rendering:
    """`limit` is in characters."""

    workspace: Workspace
    limit: int

    async def __call__(self, call_id: str, outcome: Output | Mistake) -> str:
        """Never empty. Files are stored on the way, and so is the whole of what is too long."""
        if isinstance(outcome, Mistake):
            return outcome.render()
        text = outcome.render()
        link = link_in(text)
        if not outcome.files and link is None and len(text) <= self.limit:
            return text if text.strip() else EMPTY
        return await asyncio.to_thread(self._stored, call_id, outcome, text, link)

    def _stored(self, call_id: str, outcome: Output, text: str, link: Link | None) -> str:
        kept = [self.workspace.keep(file) for file in outcome.files]
        kept += [self.workspace.link(link)] if link else []
        if len(text) > self.limit:
            text = self._capped(call_id, text)
        return _with_files(text, kept) if kept else text

    def _capped(self, call_id: str, text: str) -> str:
        name = f"output-{call_id.replace('/', '-')}.txt"
        whole = self.workspace.keep(File(name, text.encode(), "text/plain"), hidden=True)
        missing = len(text) - self.limit
        note = (
            f"{missing:,} of {len(text):,} characters are missing; the whole is in {whole.name}, "
            f"which read_more goes on with from offset {self.limit}"
        )
        return f"{text[: self.limit]}\n… ({note})"


def _with_files(text: str, kept: Sequence[FileInfo]) -> str:
    return "\n".join([text, "Produced files:", *(f"- {info}" for info in kept)]).strip()
