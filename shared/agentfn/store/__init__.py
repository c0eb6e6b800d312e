"""Tasks in DynamoDB: heads, transcripts, events, leases. One door for writes."""

from agentfn.store.head import Head
from agentfn.store.listing import Listing
from agentfn.store.stream import DynamoEventStream
from agentfn.store.table import Table
from agentfn.store.tasks import MessageRecord, Tasks
from agentfn.store.versioned import DynamoTaskStore

__all__ = ["DynamoEventStream", "DynamoTaskStore", "Head", "Listing", "MessageRecord", "Table", "Tasks"]
