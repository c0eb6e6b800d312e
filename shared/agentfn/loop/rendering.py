"""A tool's outcome in the words that the model reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentfn.models import Call
from agentfn.tools import File, FileInfo, Output, Workspace
from agentfn.tools.arguments import Mistake
from agentfn.tools.output import link_in

EMPTY = "(no output)"


@dataclass(frozen=True)
class Rendering:
    """`limit` is in characters."""

    workspace: Workspace
    limit: int

    def __call__(self, call: Call, outcome: Output | Mistake) -> str:
        """Never empty. Files are stored on the way, and so is the whole of what is too long. Blocks."""
        if isinstance(outcome, Mistake):
            return outcome.render()
        text = outcome.render()
        link = link_in(text)
        kept = [self.workspace.keep(file) for file in outcome.files]
        kept += [self.workspace.link(link)] if link else []
        if len(text) > self.limit:
            text = self._capped(call, text)
        return _with_files(text, kept) if kept else text if text.strip() else EMPTY

    def _capped(self, call: Call, text: str) -> str:
        whole = self.workspace.keep(File(f"output-{call.id}.txt", text.encode(), "text/plain"), hidden=True)
        missing = len(text) - self.limit
        note = f"{missing:,} of {len(text):,} characters are missing; the whole is in {whole.name}"
        return f"{text[: self.limit]}\n… ({note})"


def _with_files(text: str, kept: Sequence[FileInfo]) -> str:
    return "\n".join([text, "Produced files:", *(f"- {info}" for info in kept)]).strip()
