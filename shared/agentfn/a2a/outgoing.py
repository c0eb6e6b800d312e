"""A stored task as a caller reads it: with living links."""

from collections.abc import Iterable

from a2a.types import Part, Task

from agentfn.files import Bucket
from agentfn.outcome import OBJECT


def signed(task: Task, bucket: Bucket) -> Task:
    """A copy in which every reference to an object is a link, signed now."""
    shown = Task()
    shown.CopyFrom(task)
    for part in _parts(shown):
        if part.url.startswith(OBJECT):
            part.url = bucket.link(part.url.removeprefix(OBJECT))
    return shown


def _parts(task: Task) -> Iterable[Part]:
    for artifact in task.artifacts:
        yield from artifact.parts
    for message in task.history:
        yield from message.parts
