"""A workspace in a local folder, for scripts and tests that have no bucket."""

import shutil
import tempfile
import threading
import weakref
from pathlib import Path

from agentfn.tools.tool_output import File, FileLink
from agentfn.tools.workspaces.file_names import sanitize_file_name, sanitize_media_type
from agentfn.tools.workspaces.file_records import find_file, link_record, unique_file_name
from agentfn.tools.workspaces.workspace import FileRecord, Origin

HIDDEN_FOLDER = ".hidden"  # sanitized names never start with a dot, so no file of a task can have one of these names
WORK_FOLDER = ".work"


class FolderWorkspace:
    """A `Workspace` in the folder `root`, or in a temporary folder that is deleted with the workspace.

    Attached and produced files are stored in `root` under their names. Files that are there at the start count as
    attached, so no tool's output replaces them. The tools of one turn use the workspace from several threads.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or Path(tempfile.mkdtemp(prefix="task-"))).absolute()
        if root is None:
            weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._records: dict[str, FileRecord] = {}
        for path in sorted(self.root.iterdir()):
            if path.is_file() and sanitize_file_name(path.name) == path.name:
                self._add_record(File(path.name, path), path.name, "attached")

    @property
    def folder(self) -> Path:
        return self.root / WORK_FOLDER

    @property
    def files(self) -> tuple[FileRecord, ...]:
        return tuple(self._records.values())

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        return tuple(record for record in self._records.values() if record.origin == "produced")

    def local_path(self, name: str) -> Path:
        return self.root / find_file(self._records, name).key

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        return self._store(file, "hidden" if hidden else "produced")

    def add_link(self, link: FileLink) -> FileRecord:
        with self._lock:
            record = link_record(self._records, link)
            self._records[record.name] = record
            return record

    def attach(self, file: File | Path) -> FileRecord:
        """Copies the file into the workspace, as a file of a message."""
        return self._store(file if isinstance(file, File) else File(file.name, file), "attached")

    def _store(self, file: File, origin: Origin) -> FileRecord:
        content = file.read()
        with self._lock:
            name = unique_file_name(self._records, sanitize_file_name(file.name), origin)
            path = self.root / HIDDEN_FOLDER / name if origin == "hidden" else self.root / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            return self._add_record(File(name, path, file.content_type), str(path.relative_to(self.root)), origin)

    def _add_record(self, file: File, key: str, origin: Origin) -> FileRecord:
        record = FileRecord(file.name, sanitize_media_type(file.content_type), file.size, origin, key)
        self._records[file.name] = record
        return record
