"""A tool's outcome in the words that the model reads."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentfn.tools import File, FileInfo, FileLink, Output, Workspace
from agentfn.tools.tool_arguments import ToolCallError
from agentfn.tools.tool_output import find_link

NO_OUTPUT = "(no output)"


@dataclass(frozen=True)
class OutputRenderer:
    """`limit` is in characters."""

    workspace: Workspace
    max_chars: int

    async def __call__(self, call_id: str, outcome: Output | ToolCallError) -> str:
        """Never empty. Files are stored on the way, and so is the whole of what is too long."""
        if isinstance(outcome, ToolCallError):
            return outcome.render()
        text = outcome.render()
        link = find_link(text)
        if not outcome.files and link is None and len(text) <= self.max_chars:
            return text if text.strip() else NO_OUTPUT
        return await asyncio.to_thread(self._store, call_id, outcome, text, link)

    def _store(self, call_id: str, outcome: Output, text: str, link: FileLink | None) -> str:
        kept = [self.workspace.save_file(file) for file in outcome.files]
        kept += [self.workspace.add_link(link)] if link else []
        if len(text) > self.max_chars:
            text = self._truncate(call_id, text)
        return _list_files(text, kept) if kept else text

    def _truncate(self, call_id: str, text: str) -> str:
        name = f"output-{call_id.replace('/', '-')}.txt"
        whole = self.workspace.save_file(File(name, text.encode(), "text/plain"), hidden=True)
        missing = len(text) - self.max_chars
        note = (
            f"{missing:,} of {len(text):,} characters are missing; the whole is in {whole.name}, "
            f"which read_more goes on with from offset {self.max_chars}"
        )
        return f"{text[: self.max_chars]}\n… ({note})"


def _list_files(text: str, kept: Sequence[FileInfo]) -> str:
    return "\n".join([text, "Produced files:", *(f"- {info}" for info in kept)]).strip()
