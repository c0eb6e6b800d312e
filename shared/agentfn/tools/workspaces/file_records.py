"""Lookup of a task's files by name, and names for new files."""

import itertools
from collections.abc import Mapping

from agentfn.errors import ToolError
from agentfn.tools.tool_output import File, FileLink
from agentfn.tools.workspaces.file_names import sanitize_file_name, sanitize_media_type
from agentfn.tools.workspaces.workspace import FileRecord, Origin

FileRecords = Mapping[str, FileRecord]


def find_file(records: FileRecords, name: str) -> FileRecord:
    """The record of that exact name, or of its base name: models often put a path before a name.

    Raises ToolError if there is none, or if the file is stored elsewhere.
    """
    record = records.get(name) or records.get(sanitize_file_name(name, ""))
    if record is None:
        raise ToolError(f"there is no file {name!r}; there are: {', '.join(records) or 'none'}")
    if record.url:
        raise ToolError(f"{record.name} lies at {record.url} and is not fetched; hand on its address")
    return record


def unique_file_name(records: FileRecords, name: str, origin: Origin) -> str:
    """The name for a new file, with a number if an existing file of that name must not be replaced.

    A produced file replaces a produced one, a hidden file a hidden one. An attached file is never replaced.
    """
    stem, dot, suffix = name.rpartition(".")
    start, end = (stem, dot + suffix) if stem else (name, "")
    for free in itertools.chain([name], (f"{start} ({number}){end}" for number in itertools.count(2))):
        holder = records.get(free)
        if holder is None or (holder.origin == origin != "attached"):
            return free
    raise AssertionError("unreachable")


def link_record(records: FileRecords, link: FileLink) -> FileRecord:
    """The record of a produced file that a tool's service stores elsewhere, under a name that is free in `records`."""
    name = unique_file_name(records, sanitize_file_name(link.name), "produced")
    media_type = sanitize_media_type(link.media_type or File(name, b"").content_type)
    return FileRecord(name, media_type, 0, "produced", url=link.url)
