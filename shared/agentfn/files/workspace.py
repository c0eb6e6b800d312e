"""The files of one task in one run: in the bucket, and in the run's own folder as far as they were needed."""

import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from agentfn.errors import ToolError
from agentfn.files.bucket import Bucket
from agentfn.files.names import safe_name
from agentfn.tools import File, FileInfo, FileRecord


class TaskFiles:
    """A `Workspace`. As a context manager it removes the run's folder. `prefix` is the task's folder in the bucket.

    Tools of one turn share it, each in its own thread.
    """

    def __init__(self, bucket: Bucket, prefix: str, records: Iterable[FileRecord] = ()) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._records = {record.name: record for record in records}
        self._temporary = tempfile.TemporaryDirectory(prefix="task-", ignore_cleanup_errors=True)
        self._lock = threading.Lock()
        self.folder.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._temporary.cleanup()

    @property
    def folder(self) -> Path:
        return Path(self._temporary.name) / "work"

    @property
    def records(self) -> tuple[FileRecord, ...]:
        return tuple(self._records.values())

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return self.records

    @property
    def produced(self) -> tuple[FileInfo, ...]:
        return tuple(record for record in self.records if record.origin == "produced")

    def local(self, name: str) -> Path:
        """Exact names first, then base names: a model likes to put a path before a name."""
        record = self._records.get(name) or self._records.get(safe_name(name))
        if record is None:
            raise ToolError(f"there is no file {name!r}; there are: {', '.join(self._records) or 'none'}")
        path = Path(self._temporary.name) / "files" / (record.key.rsplit("/", 1)[-1] or "linked") / record.name
        with self._lock:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._bucket.get(record.key))
        return path

    def keep(self, file: File, *, hidden: bool = False) -> FileInfo:
        return self._store(file, "hidden" if hidden else "produced")

    def attach(self, file: File) -> FileRecord:
        """A file that came with a message."""
        return self._store(file, "attached")

    def _store(self, file: File, origin: str) -> FileRecord:
        name = safe_name(file.name)
        if origin == "attached":
            name = self._free(name)
        key = f"{self._prefix}{origin}/{uuid4().hex}"
        self._bucket.put(key, file.read(), file.kind, name)
        record = FileRecord(name, file.kind, file.size, origin, key)  # type: ignore[arg-type]
        with self._lock:
            self._records[name] = record
        return record

    def _free(self, name: str) -> str:
        """Two attached files of one name are two files."""
        stem, dot, suffix = name.rpartition(".")
        names = [
            name,
            *(f"{stem or suffix} ({n}){dot if stem else ''}{suffix if stem else ''}" for n in range(2, 1000)),
        ]
        return next(free for free in names if free not in self._records)
