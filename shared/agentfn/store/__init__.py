"""Tasks in DynamoDB: heads, transcripts, events, leases. One door for writes."""

from agentfn.store.list_tasks import TaskLister
from agentfn.store.sdk.sdk_event_stream import SdkEventStream
from agentfn.store.sdk.sdk_task_store import SdkTaskStore
from agentfn.store.table import Table
from agentfn.store.task_record import TaskRecord
from agentfn.store.task_store import MessageRecord, TaskStore

__all__ = ["MessageRecord", "SdkEventStream", "SdkTaskStore", "Table", "TaskLister", "TaskRecord", "TaskStore"]
