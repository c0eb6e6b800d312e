"""A loop's result as the state of an A2A task."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a.types import Artifact, Message, Part, Role, StreamResponse, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict

from agentfn.store.task_events import artifact_event, now_timestamp, status_event
from agentfn.tools import FileRecord

if TYPE_CHECKING:
    from agentfn.loop import LoopResult

OBJECT_SCHEME = "object:"  # scheme of a part's address in storage: the key follows, and each read signs a link for it

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
    """The task as the result leaves it, and the events of that: its artifacts, then its status.

    `records` are the files of the task; those that the result names become artifacts.
    """
    changed = with_status(task, STATE_BY_STATUS[result.status], result.text)
    by_name = {record.name: record for record in records}
    artifacts = [file_artifact(by_name[info.name]) for info in result.files if info.name in by_name]
    del changed.artifacts[:]
    changed.artifacts.extend(artifacts)
    changed.metadata.update({"agentfn": _result_summary(result)})
    return changed, [*(artifact_event(changed, item) for item in artifacts), status_event(changed)]


def loop_awaiting_input(task: Task) -> str:
    """The inner loop that a waiting task's question came from; empty where it was the task's own."""
    summary: Any = MessageToDict(task.metadata).get("agentfn", {})
    return str(summary.get("loop", ""))


def file_artifact(record: FileRecord) -> Artifact:
    made = Artifact(artifact_id=record.key.rsplit("/", 1)[-1] or record.name, name=record.name)
    made.parts.append(file_part(record))
    made.metadata.update({"size": record.size})
    return made


def file_part(record: FileRecord) -> Part:
    return Part(url=record.url or OBJECT_SCHEME + record.key, filename=record.name, media_type=record.media_type)


def _result_summary(result: "LoopResult") -> dict[str, Any]:
    """What the caller may like to know of how the answer came about."""
    summary: dict[str, Any] = {"finish_reason": result.finish_reason, "steps": result.total_steps}
    if result.partial:
        summary["partial"] = True
    if result.auth_scheme:
        summary["auth_scheme"] = result.auth_scheme
    if result.call:
        summary["approval"] = {"tool": result.call.name, "arguments": result.call.arguments}
    if result.loop:
        summary["loop"] = result.loop
    if result.usage.total_tokens:
        summary["usage"] = result.usage.to_json()
    return summary
