"""The few calls of DynamoDB that agentfn makes."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.aws_errors import map_aws_errors
from agentfn.errors import ConflictError
from agentfn.store.payload_codec import Attribute

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Attribute]

CONTENTION_CODES = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
MAX_WRITE_ATTEMPTS = 6
MAX_BATCH_KEYS = 100  # keys in one BatchGetItem
MAX_KEY_BYTES = 2_048, 1_024  # bytes of a partition's key, and of one in it; DynamoDB takes a longer one for an error


class Table:
    """`client` is made at the first call. Each method is one call, or one a page; they run in threads."""

    def __init__(self, client: "Callable[[], DynamoDBClient]", name: str) -> None:
        self._client = client
        self._name = name

    async def write(self, *actions: dict[str, dict[str, Any]]) -> None:
        """All of the Put, Update, Delete and ConditionCheck actions, or none.

        Raises ConflictError where a condition does not hold. Source of the reasons:
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        items = [{kind: {"TableName": self._name, **body} for kind, body in action.items()} for action in actions]
        with map_aws_errors():
            await self._retry_on_contention(lambda: self._client().transact_write_items(TransactItems=items))  # type: ignore[arg-type]

    async def get(self, pk: str, sk: str, attributes: Iterable[str] = ()) -> Item | None:
        """A consistent read of one item, or of some of its attributes."""
        if any(len(text.encode()) > most for text, most in zip((pk, sk), MAX_KEY_BYTES, strict=True)):
            return None
        names = {f"#a{place}": name for place, name in enumerate(attributes)}
        narrow: Any = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names} if names else {}
        with map_aws_errors():
            answer = await asyncio.to_thread(
                lambda: self._client().get_item(
                    TableName=self._name, Key=item_key(pk, sk), ConsistentRead=True, **narrow
                )
            )
        return answer.get("Item")  # type: ignore[return-value]

    async def batch_get(self, keys: list[Item]) -> list[Item]:
        """The items of these keys that there are, in no order."""
        found: list[Item] = []
        for start in range(0, len(keys), MAX_BATCH_KEYS):
            request: Any = {self._name: {"Keys": keys[start : start + MAX_BATCH_KEYS]}}
            while request and request.get(self._name, {}).get("Keys"):
                with map_aws_errors():
                    answer = await asyncio.to_thread(self._request_batch, request)
                found += answer["Responses"].get(self._name, [])
                request = answer.get("UnprocessedKeys")
        return found

    async def query_page(self, **body: Any) -> dict[str, Any]:
        """One page."""
        with map_aws_errors():
            page: Any = await asyncio.to_thread(lambda: self._client().query(TableName=self._name, **body))
        return page  # type: ignore[no-any-return]

    async def query_all(self, **body: Any) -> list[Item]:
        """All pages."""
        items: list[Item] = []
        start: Any = None
        while True:
            page = await self.query_page(**body, **({"ExclusiveStartKey": start} if start else {}))
            items += page["Items"]
            start = page.get("LastEvaluatedKey")
            if not start:
                return items

    async def _retry_on_contention(self, write: Callable[[], Any]) -> None:
        """Two writes that meet make one of them fail, though its condition may hold: that one is tried again."""
        for attempt in range(MAX_WRITE_ATTEMPTS):
            try:
                await asyncio.to_thread(write)
                return
            except ClientError as error:
                reasons = _failure_codes(error)
                if "ConditionalCheckFailed" in reasons:
                    raise ConflictError("the task was changed by somebody else") from error
                if not reasons & CONTENTION_CODES or attempt == MAX_WRITE_ATTEMPTS - 1:
                    raise
            await asyncio.sleep(random.uniform(0.5, 1.0) * 0.05 * 2**attempt)  # noqa: S311 - jitter

    def _request_batch(self, request: Any) -> Any:
        return self._client().batch_get_item(RequestItems=request)


def _failure_codes(error: ClientError) -> set[str]:
    """Why a write failed, in a transaction's words."""
    reasons: Any = error.response.get("CancellationReasons", [])
    single = error.response["Error"]["Code"].removesuffix("Exception")
    return {single, *(reason.get("Code", "") for reason in reasons)}


def item_key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}
