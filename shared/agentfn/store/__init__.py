"""Tasks in DynamoDB: heads, transcripts, events, leases. One door for writes."""

from agentfn.store.list_tasks import Listing
from agentfn.store.sdk.sdk_event_stream import DynamoEventStream
from agentfn.store.sdk.sdk_task_store import DynamoTaskStore
from agentfn.store.table import Table
from agentfn.store.task_record import Head
from agentfn.store.task_store import MessageRecord, Tasks

__all__ = ["DynamoEventStream", "DynamoTaskStore", "Head", "Listing", "MessageRecord", "Table", "Tasks"]
