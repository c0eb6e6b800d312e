"""The few calls of DynamoDB that agentfn makes."""

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.errors import ConflictError
from agentfn.store.payload import Attribute

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Attribute]

CONTENTION_TRIES = 6
BATCH = 100  # keys in one BatchGetItem


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
        for attempt in range(CONTENTION_TRIES):
            try:
                await asyncio.to_thread(lambda: self._client().transact_write_items(TransactItems=items))  # type: ignore[arg-type]
                return
            except ClientError as error:
                reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
                if "ConditionalCheckFailed" in reasons:
                    raise ConflictError("the task was changed by somebody else") from error
                if "TransactionConflict" not in reasons or attempt == CONTENTION_TRIES - 1:
                    raise
            await asyncio.sleep(random.uniform(0.5, 1.0) * 0.05 * 2**attempt)  # noqa: S311 - jitter

    async def update(self, **body: Any) -> None:
        """One conditional UpdateItem. Raises ConflictError where the condition fails."""
        try:
            await asyncio.to_thread(lambda: self._client().update_item(TableName=self._name, **body))
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                raise ConflictError("the task was changed by somebody else") from error
            raise

    async def get(self, pk: str, sk: str, attributes: Iterable[str] = ()) -> Item | None:
        """A consistent read of one item, or of some of its attributes."""
        names = {f"#a{place}": name for place, name in enumerate(attributes)}
        narrow: Any = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names} if names else {}
        answer = await asyncio.to_thread(
            lambda: self._client().get_item(TableName=self._name, Key=key(pk, sk), ConsistentRead=True, **narrow)
        )
        return answer.get("Item")  # type: ignore[return-value]

    async def get_all(self, wanted: list[Item]) -> list[Item]:
        """The items of these keys that there are, in no order; at most 100."""
        found: list[Item] = []
        request: Any = {self._name: {"Keys": wanted[:BATCH]}}
        while request and request.get(self._name, {}).get("Keys"):
            answer = await asyncio.to_thread(self._batch, request)
            found += answer["Responses"].get(self._name, [])
            request = answer.get("UnprocessedKeys")
        return found

    async def query(self, **body: Any) -> dict[str, Any]:
        """One page."""
        page: Any = await asyncio.to_thread(lambda: self._client().query(TableName=self._name, **body))
        return page  # type: ignore[no-any-return]

    async def query_all(self, **body: Any) -> list[Item]:
        """All pages."""
        items: list[Item] = []
        start: Any = None
        while True:
            page = await self.query(**body, **({"ExclusiveStartKey": start} if start else {}))
            items += page["Items"]
            start = page.get("LastEvaluatedKey")
            if not start:
                return items

    def _batch(self, request: Any) -> Any:
        return self._client().batch_get_item(RequestItems=request)


def key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}
