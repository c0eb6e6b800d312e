"""Updates of an A2A task: the changed task, and the events that a stream shows of the change."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.types import Artifact, Message, Part, Role, StreamResponse, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict

from agentfn.store.task_events import artifact_event, now_timestamp, status_event
from agentfn.tools import FileRecord

if TYPE_CHECKING:
    from agentfn.loop import LoopResult

OBJECT_SCHEME = "object:"  # a stored part's URL: the object's key follows, and each read presigns a link
METADATA_KEY = "agentfn"  # in a task's metadata: how the task came to its result

STATE_BY_STATUS = {
    "completed": TaskState.TASK_STATE_COMPLETED,
    "input_required": TaskState.TASK_STATE_INPUT_REQUIRED,
    "auth_required": TaskState.TASK_STATE_AUTH_REQUIRED,
    "rejected": TaskState.TASK_STATE_REJECTED,
    "failed": TaskState.TASK_STATE_FAILED,
}


def with_status(task: Task, state: TaskState, text: str = "") -> Task:
    """A copy of the task in that state, with `text` as the agent's message."""
    changed = Task()
    changed.CopyFrom(task)
    status = TaskStatus(state=state, timestamp=now_timestamp())
    if text:
        status.message.CopyFrom(agent_message(task, text))
    changed.status.CopyFrom(status)
    return changed


def agent_message(task: Task, text: str) -> Message:
    return Message(
        message_id=str(uuid4()),
        context_id=task.context_id,
        task_id=task.id,
        role=Role.ROLE_AGENT,
        parts=[Part(text=text, media_type="text/plain")],
    )


def progress_update(task: Task, text: str) -> tuple[Task, list[StreamResponse]]:
    changed = with_status(task, TaskState.TASK_STATE_WORKING, text)
    return changed, [status_event(changed)]


def failure_update(task: Task, reason: str) -> tuple[Task, list[StreamResponse]]:
    changed = with_status(task, TaskState.TASK_STATE_FAILED, reason)
    return changed, [status_event(changed)]


def result_update(task: Task, result: "LoopResult", records: Iterable[FileRecord]) -> tuple[Task, list[StreamResponse]]:
    """The task with the result's status and, as artifacts, its files. `records` are all files of the task."""
    changed = with_status(task, STATE_BY_STATUS[result.status], result.text)
    by_name = {record.name: record for record in records}
    artifacts = [file_artifact(by_name[info.name]) for info in result.files if info.name in by_name]
    del changed.artifacts[:]
    changed.artifacts.extend(artifacts)
    changed.metadata.update({METADATA_KEY: _result_summary(result)})
    return changed, [*(artifact_event(changed, item) for item in artifacts), status_event(changed)]


def read_metadata(task: Task) -> dict[str, Any]:
    """What agentfn says of the task in its metadata; empty if nothing."""
    summary: dict[str, Any] = MessageToDict(task.metadata).get(METADATA_KEY, {}) if task.HasField("metadata") else {}
    return summary


def loop_awaiting_input(task: Task) -> str:
    """The nested loop that asked the user; empty if the task's main loop did."""
    return str(read_metadata(task).get("loop", ""))


def file_artifact(record: FileRecord) -> Artifact:
    artifact = Artifact(artifact_id=record.key.rsplit("/", 1)[-1] or record.name, name=record.name)
    artifact.parts.append(file_part(record))
    artifact.metadata.update({"size": record.size})
    return artifact


def file_part(record: FileRecord) -> Part:
    return Part(url=record.url or OBJECT_SCHEME + record.key, filename=record.name, media_type=record.media_type)


def _result_summary(result: "LoopResult") -> dict[str, Any]:
    """How the result came about, for the task's metadata."""
    summary: dict[str, Any] = {"finish_reason": result.finish_reason, "steps": result.total_steps}
    if result.partial:
        summary["partial"] = True
    if result.auth_scheme:
        summary["auth_scheme"] = result.auth_scheme
    if result.call:
        summary["approval"] = {"tool": result.call.name, "arguments": result.call.arguments}
    if result.loop_name:
        summary["loop"] = result.loop_name
    if result.usage.total_tokens:
        summary["usage"] = result.usage.to_json()
    return summary
