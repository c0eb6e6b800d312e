"""Tasks in DynamoDB: heads, transcripts, events, leases. One door for writes."""

from agentfn.store.head import Head
from agentfn.store.listing import Listing
from agentfn.store.table import Table
from agentfn.store.tasks import MessageRecord, Tasks
from agentfn.store.versioned import DynamoTaskStore

__all__ = ["DynamoTaskStore", "Head", "Listing", "MessageRecord", "Table", "Tasks"]
