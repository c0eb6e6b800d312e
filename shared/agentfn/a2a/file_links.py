"""URLs of a task's files: a presigned one that expires, and a permanent one of the agent's own.

The permanent URL ends with a file id, `<task's id>.<object's id>`. It never has the object's key.
"""

import re
from collections.abc import Iterable

from a2a.types import Part, Task

from agentfn.files import Bucket
from agentfn.runs.task_updates import OBJECT_SCHEME

FILES_PATH = "/files/"
FILE_ID_PATTERN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9a-f]{32})")


def presign_parts(task_id: str, parts: Iterable[Part], bucket: Bucket, base_url: str) -> None:
    """Replaces each reference to an object with a presigned URL. Adds its expiry and the file's permanent URL.

    `base_url` is the agent's URL as the caller knows it; without one, there is no permanent URL.
    """
    for part in parts:
        if not part.url.startswith(OBJECT_SCHEME):
            continue
        key = part.url.removeprefix(OBJECT_SCHEME)
        link = bucket.presign_download(key)
        part.url = link.url
        part.metadata.update({"expires": f"{link.expires:%Y-%m-%dT%H:%M:%SZ}"})
        if base_url:
            file_id = f"{task_id}.{key.rsplit('/', 1)[-1]}"
            part.metadata.update({"agentfn": {"file": f"{base_url}{FILES_PATH}{file_id}"}})


def parse_file_id(text: str) -> tuple[str, str] | None:
    """Returns the ids of task and object; None for anything else."""
    found = FILE_ID_PATTERN.fullmatch(text)
    return (found[1], found[2]) if found else None


def find_object_key(task: Task, object_id: str) -> str | None:
    """Returns the object's key, or None. Only files in parts count: others are for the model alone."""
    keys = (part.url.removeprefix(OBJECT_SCHEME) for part in task_parts(task) if part.url.startswith(OBJECT_SCHEME))
    return next((key for key in keys if key.rsplit("/", 1)[-1] == object_id), None)


def task_parts(task: Task) -> Iterable[Part]:
    for artifact in task.artifacts:
        yield from artifact.parts
    for message in task.history:
        yield from message.parts
