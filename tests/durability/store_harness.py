"""A task store on an AWS in memory with a manual clock, for tests without pytest's fixtures."""

import asyncio
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from moto import mock_aws

from agentfn.aws_clients import aws_client
from agentfn.files import Bucket
from agentfn.local.aws_resources import TABLE_SCHEMA, create_resources
from agentfn.store import DynamoTaskStore, Table
from agentfn.store.payload_codec import PayloadCodec

REGION = "eu-central-1"
AGENT = "clerk"
RETENTION_DAYS = 30


class StoreHarness:
    """The store and its clock: `now` is in seconds since 1970. Close it after the test."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self._stack = ExitStack()
        self._stack.enter_context(patch.dict("os.environ", AWS_DEFAULT_REGION=REGION))
        self._stack.enter_context(mock_aws())
        aws_client.cache_clear()
        self._stack.callback(aws_client.cache_clear)
        self._loop = asyncio.new_event_loop()
        self._stack.callback(self._loop.close)
        self._stack.callback(lambda: self._loop.run_until_complete(self._loop.shutdown_default_executor()))
        self.resources = create_resources("shop", REGION)
        bucket = Bucket(lambda: aws_client("s3"), self.resources.bucket, 3600)
        table = Table(lambda: aws_client("dynamodb"), self.resources.table)
        self.tasks = DynamoTaskStore(table, PayloadCodec(bucket), AGENT, RETENTION_DAYS, lambda: self.now)

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def head_item(self, pk: str) -> dict[str, Any] | None:
        key = {"pk": {"S": pk}, "sk": {"S": "head"}}
        answer = aws_client("dynamodb").get_item(TableName=self.resources.table, Key=key, ConsistentRead=True)
        item: dict[str, Any] | None = answer.get("Item")
        return item

    def count_items(self, pk: str) -> int:
        """The number of items with that partition key."""
        answer = aws_client("dynamodb").query(
            TableName=self.resources.table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            Select="COUNT",
        )
        return int(answer["Count"])

    def items(self, pk: str) -> list[dict[str, Any]]:
        """The items with that partition key, in the order of their sort keys."""
        found = aws_client("dynamodb").query(
            TableName=self.resources.table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=True,
        )
        items: list[dict[str, Any]] = found["Items"]
        return items

    def reset(self) -> None:
        """Resets the store but keeps its clients."""
        self.now = 1_800_000_000.0
        aws_client("dynamodb").delete_table(TableName=self.resources.table)
        aws_client("dynamodb").create_table(TableName=self.resources.table, **TABLE_SCHEMA)

    def delete_expired(self) -> None:
        """Deletes expired items, as DynamoDB does some time later."""
        table = aws_client("dynamodb")
        for item in table.scan(TableName=self.resources.table, ConsistentRead=True)["Items"]:
            if int(item["expires"]["N"]) <= self.now:
                table.delete_item(TableName=self.resources.table, Key={"pk": item["pk"], "sk": item["sk"]})

    def close(self) -> None:
        self._stack.close()
