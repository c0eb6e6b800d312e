"""Stores tasks in DynamoDB: records, transcripts, events, leases and push subscriptions."""

from agentfn.store.dynamo_task_store import DynamoTaskStore
from agentfn.store.table import Table
from agentfn.store.task_record import MessageRecord, RecordChanges, TaskRecord
from agentfn.store.task_store import TaskStore

__all__ = ["DynamoTaskStore", "MessageRecord", "RecordChanges", "Table", "TaskRecord", "TaskStore"]
