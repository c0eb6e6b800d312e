"""The table, bucket and queue of an agent."""

from typing import NamedTuple

from agentfn.agent import Agent
from agentfn.aws_clients import aws_client, s3_client
from agentfn.files import Bucket
from agentfn.runs.work_queue import DeadLetterQueue, WorkQueue
from agentfn.settings import Settings
from agentfn.store import DynamoTaskStore, Table, TaskStore
from agentfn.store.payload_codec import PayloadCodec


class Storage(NamedTuple):
    """The AWS resources of one agent."""

    task_store: TaskStore
    bucket: Bucket
    queue: WorkQueue


def create_storage(agent: Agent, settings: Settings) -> Storage:
    bucket = Bucket(s3_client, settings.storage.bucket, settings.storage.link_seconds)
    table = Table(lambda: aws_client("dynamodb"), settings.storage.table)
    queue = WorkQueue(lambda: aws_client("sqs"), settings.queue.url)
    days = settings.storage.task_days
    tasks = DynamoTaskStore(table, PayloadCodec(bucket), agent.name, days, enqueue_push=queue.enqueue_push)
    return Storage(tasks, bucket, queue)


def create_dead_letter_queue(settings: Settings) -> DeadLetterQueue | None:
    """None if AGENTFN_DEAD_LETTERS_URL is unset."""
    url = settings.queue.dead_letters_url
    return DeadLetterQueue(lambda: aws_client("sqs"), url) if url else None
