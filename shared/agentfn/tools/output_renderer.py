"""Tool output as the text that the model reads. Files and the full text of a long output are saved."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentfn.tools.tool_arguments import ToolCallError
from agentfn.tools.tool_output import File, FileLink, Output, find_link
from agentfn.tools.workspaces.workspace import FileRecord, Workspace

NO_OUTPUT = "(no output)"
TRUNCATION_NOTE = "\n… ({missing:,} of {total:,} characters are missing; {hint})"


@dataclass(frozen=True)
class OutputRenderer:
    """Renders outputs for a loop's model. `max_chars` is the most characters of an output that the model sees."""

    workspace: Workspace
    max_chars: int

    async def render(self, call_id: str, outcome: Output | ToolCallError) -> str:
        """The text of the result, never empty."""
        if isinstance(outcome, ToolCallError):
            return outcome.render()
        text = outcome.render()
        link = find_link(text)
        if not outcome.files and link is None and len(text) <= self.max_chars:
            return text if text.strip() else NO_OUTPUT
        return await asyncio.to_thread(self._save, call_id, outcome, text, link)

    def _save(self, call_id: str, output: Output, text: str, link: FileLink | None) -> str:
        records = save_files(self.workspace, output, link)
        if len(text) > self.max_chars:
            name = f"output-{call_id.replace('/', '-')}.txt"
            full = self.workspace.save_file(File(name, text.encode(), "text/plain"), hidden=True)
            hint = f"the whole is in {full.name}, which read_more goes on with from offset {self.max_chars}"
            text = truncate_output(text, self.max_chars, hint)
        return _list_files(text, records) if records else text


def save_files(workspace: Workspace, output: Output, link: FileLink | None) -> list[FileRecord]:
    """Saves the files of an output, and the link that its text holds. Blocks."""
    records = [workspace.save_file(file) for file in output.files]
    return [*records, workspace.add_link(link)] if link else records


def truncate_output(text: str, max_chars: int, hint: str) -> str:
    """The start of a text that is longer than `max_chars`. `hint` says where the full text is."""
    missing = len(text) - max_chars
    return text[:max_chars] + TRUNCATION_NOTE.format(missing=missing, total=len(text), hint=hint)


def _list_files(text: str, records: Sequence[FileRecord]) -> str:
    return "\n".join([text, "Produced files:", *(f"- {record}" for record in records)]).strip()
