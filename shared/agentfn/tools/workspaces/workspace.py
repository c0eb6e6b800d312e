"""The interface of workspaces: the files of one task, by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agentfn.tools.tool_output import File, FileLink

Origin = Literal["attached", "produced", "hidden"]


@dataclass(frozen=True)
class FileInfo:
    """A file of the task. `size` is in bytes."""

    name: str
    media_type: str
    size: int

    def __str__(self) -> str:
        return f"{self.name} ({self.media_type}, {self.size:,} bytes)"


@dataclass(frozen=True)
class FileRecord(FileInfo):
    """A file with its location: `key` of an object in the bucket, or `url` of a file that is stored elsewhere.

    `origin` is "attached" for files of messages, "produced" for files that may be returned to the caller, "hidden" for
    files that only the model may read.
    """

    origin: Origin
    key: str = ""
    url: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.media_type}, at {self.url})" if self.url else super().__str__()


class Workspace(Protocol):
    """The files of one task. The methods block: call them from a thread."""

    @property
    def folder(self) -> Path:
        """The local folder of the run, which is deleted after the run."""

    @property
    def files(self) -> tuple[FileRecord, ...]:
        """All files, hidden ones included."""

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        """The files that may be returned to the caller."""

    def local_path(self, name: str) -> Path:
        """A local path of the file; it ends in the file's name. Raises ToolError for an unknown name."""

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        """Saves a produced file; it replaces one of the same name. A hidden file is not returned to callers.

        The record's name can differ from the file's: an attached file of that name is not replaced.
        """

    def add_link(self, link: FileLink) -> FileRecord:
        """Adds a produced file that is stored elsewhere."""
