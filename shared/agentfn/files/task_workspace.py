"""The workspace of a run: the task's files in the bucket, and local copies of those that tools open."""

import shutil
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from agentfn.errors import ToolError
from agentfn.files.bucket import Bucket
from agentfn.files.upload_store import Upload
from agentfn.tools import File, FileLink, FileRecord, Origin
from agentfn.tools.workspaces.file_names import sanitize_file_name, sanitize_media_type
from agentfn.tools.workspaces.file_records import find_file, link_record, unique_file_name

DISK_FULL_TEXT = (
    "{name} has {size:,} bytes, and the disk that tools work on has {free:,} left: it cannot be opened. "
    "The agent's operator can give the function more ephemeral storage"
)


class TaskWorkspace:
    """Implements `Workspace` with a bucket. `prefix` is the key prefix of the task's objects.

    A context manager: it removes the run's folder at the end. Tools of one turn use it at once, each in its own thread.
    """

    def __init__(self, bucket: Bucket, prefix: str, records: Iterable[FileRecord] = ()) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._records = {record.name: record for record in records}
        self._temporary_directory = tempfile.TemporaryDirectory(prefix="task-", ignore_cleanup_errors=True)
        self._lock = threading.Lock()
        self._download_locks: dict[str, threading.Lock] = {}  # by key: one thread downloads, others wait
        self._closed = False
        self.folder.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with self._lock:  # a thread that is still running creates no new files
            self._closed = True
        self._temporary_directory.cleanup()

    @property
    def folder(self) -> Path:
        return Path(self._temporary_directory.name) / "work"

    @property
    def records(self) -> tuple[FileRecord, ...]:
        return tuple(self._records.values())

    @property
    def files(self) -> tuple[FileRecord, ...]:
        return self.records

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        return tuple(record for record in self.records if record.origin == "produced")

    def local_path(self, name: str) -> Path:
        record = find_file(self._records, name)
        path = Path(self._temporary_directory.name) / "files" / record.key.rsplit("/", 1)[-1] / record.name
        with self._lock:
            turn = self._download_locks.setdefault(record.key, threading.Lock())
        with turn:  # one lock per file: the run can end while a large file is downloaded
            if self._closed or not path.exists():
                self._download(record, path)
        return path

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        return self._store(file, "hidden" if hidden else "produced")

    def add_link(self, link: FileLink) -> FileRecord:
        with self._lock:
            record = link_record(self._records, link)
            self._records[record.name] = record
            return record

    def read_object(self, key: str) -> bytes:
        """The content of an object of the bucket. Blocks."""
        return self._bucket.get(key)

    def attach(self, file: File | Upload) -> FileRecord:
        """Stores a file of a message, or copies an upload. Raises StoredDataError for an upload that was deleted."""
        return self._store(file, "attached")

    def _download(self, record: FileRecord, path: Path) -> None:
        with self._lock:
            self._check_open()
            path.parent.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(path.parent).free
        if record.size > free:
            raise ToolError(DISK_FULL_TEXT.format(name=record.name, size=record.size, free=free))
        partial = path.with_name(".partial")
        try:
            self._bucket.download(record.key, partial)
        except OSError as error:
            partial.unlink(missing_ok=True)
            self._check_open()
            raise ToolError(DISK_FULL_TEXT.format(name=record.name, size=record.size, free=free)) from error
        with self._lock:
            self._check_open()
            partial.replace(path)

    def _store(self, file: File | Upload, origin: Origin) -> FileRecord:
        size, kind = file.size, sanitize_media_type(file.content_type)
        key = f"{self._prefix}{origin}/{uuid4().hex}"
        with self._lock:
            self._check_open()
            name = unique_file_name(self._records, sanitize_file_name(file.name), origin)
        if isinstance(file, Upload):
            self._bucket.copy(file.source, key, kind, name)
        else:
            self._bucket.put(key, file.content, kind, name)
        record = FileRecord(name, kind, size, origin, key)
        with self._lock:
            self._records[name] = record
        return record

    def _check_open(self) -> None:
        if self._closed:
            raise ToolError("the run that this call belonged to is over")
