"""Creates an agent's AWS resources without a template: table, bucket, queue and dead-letter queue."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# The same as in infra/storage.yaml; a test compares them.
TABLE_SCHEMA: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "owner_key", "AttributeType": "S"},
        {"AttributeName": "context_key", "AttributeType": "S"},
        {"AttributeName": "open_key", "AttributeType": "S"},
        {"AttributeName": "updated", "AttributeType": "S"},
        {"AttributeName": "lease_end", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_owner",
            "KeySchema": [
                {"AttributeName": "owner_key", "KeyType": "HASH"},
                {"AttributeName": "updated", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state", "expires"]},
        },
        {
            "IndexName": "by_context",
            "KeySchema": [
                {"AttributeName": "context_key", "KeyType": "HASH"},
                {"AttributeName": "updated", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state", "expires"]},
        },
        {
            "IndexName": "open",
            "KeySchema": [
                {"AttributeName": "open_key", "KeyType": "HASH"},
                {"AttributeName": "lease_end", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        },
    ],
}
MAX_RECEIVE_COUNT = 5
VISIBILITY_SECONDS = 930  # Lambda asks for at least the function's timeout


@dataclass(frozen=True)
class AwsResources:
    table: str
    bucket: str
    queue_url: str
    dead_letters_url: str

    def environment(self) -> dict[str, str]:
        """The environment variables that name the resources, as a deployed function has them."""
        return {
            "AGENTFN_TABLE": self.table,
            "AGENTFN_BUCKET": self.bucket,
            "AGENTFN_QUEUE_URL": self.queue_url,
            "AGENTFN_DEAD_LETTERS_URL": self.dead_letters_url,
        }


def create_resources(name: str, region: str, client: Callable[[str], Any] | None = None) -> AwsResources:
    """Creates the resources with boto3's current configuration: at an emulator's endpoint, or under moto.

    `client` returns the client of a service, in place of boto3's.
    """
    import boto3

    if client is None:
        client = functools.partial(boto3.client, region_name=region)
    table, bucket = f"{name}-table", f"{name}-bucket"
    client("dynamodb").create_table(TableName=table, **TABLE_SCHEMA)
    place: Any = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    client("s3").create_bucket(Bucket=bucket, **place)
    sqs = client("sqs")
    dead = sqs.create_queue(QueueName=f"{name}-dead-letters")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    queue = sqs.create_queue(
        QueueName=f"{name}-queue",
        Attributes={
            "VisibilityTimeout": str(VISIBILITY_SECONDS),
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVE_COUNT}),
        },
    )
    return AwsResources(table, bucket, queue["QueueUrl"], dead)
