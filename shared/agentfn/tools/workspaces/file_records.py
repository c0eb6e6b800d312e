"""The files of a task by their names: how one is found, and what a new one is called."""

import itertools
from collections.abc import Mapping

from agentfn.errors import ToolError
from agentfn.tools.tool_context import FileRecord, Origin
from agentfn.tools.workspaces.file_names import sanitize_file_name

FileRecords = Mapping[str, FileRecord]


def find_file(records: FileRecords, name: str) -> FileRecord:
    """Exact names first, then base names: a model likes to put a path before a name.

    Raises ToolError where there is none, or one that lies elsewhere.
    """
    record = records.get(name) or records.get(sanitize_file_name(name, ""))
    if record is None:
        raise ToolError(f"there is no file {name!r}; there are: {', '.join(records) or 'none'}")
    if record.url:
        raise ToolError(f"{record.name} lies at {record.url} and is not fetched; hand on its address")
    return record


def unique_file_name(records: FileRecords, name: str, origin: Origin) -> str:
    """The name, numbered where another file has it. What a tool makes replaces what a tool made, nothing else:
    two attached files of one name are two files, and none is lost to a tool's output.
    """
    stem, dot, suffix = name.rpartition(".")
    start, end = (stem, dot + suffix) if stem else (name, "")
    for free in itertools.chain([name], (f"{start} ({number}){end}" for number in itertools.count(2))):
        holder = records.get(free)
        if holder is None or (holder.origin == origin != "attached"):
            return free
    raise AssertionError("unreachable")
