"""The client of the one DynamoDB table, with the few requests that agentfn sends."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.aws_errors import map_aws_errors
from agentfn.errors import ConflictError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]  # attribute name -> str, bytes, bool, int or Decimal, or a dict of these

CONTENTION_CODES = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
MAX_WRITE_ATTEMPTS = 6
MAX_BATCH_KEYS = 100  # of one BatchGetItem request
MAX_KEY_BYTES = 2_048, 1_024  # of a partition key and of a sort key; DynamoDB refuses longer ones
ITEM_PARAMETERS = frozenset({"Item", "Key", "ExclusiveStartKey", "ExpressionAttributeValues"})


class Table:
    """One DynamoDB table. Items are plain dicts; attribute values are converted from and to DynamoDB's types here.

    `client` is called for each request and makes the client at the first one. Requests run in threads. Every method
    raises AwsError where DynamoDB cannot be reached or refuses the request.
    """

    def __init__(self, client: "Callable[[], DynamoDBClient]", name: str) -> None:
        self._client = client
        self._name = name

    async def write(self, *actions: dict[str, dict[str, Any]]) -> None:
        """Runs all of the Put, Update, Delete and ConditionCheck actions in one transaction, or none of them.

        Raises ConflictError where a condition does not hold. The reasons of a failed transaction are documented at
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """

        def send() -> None:
            items = [{kind: self._request(**body) for kind, body in action.items()} for action in actions]
            self._client().transact_write_items(TransactItems=items)  # type: ignore[arg-type]

        with map_aws_errors():
            await _retry_on_contention(send)

    async def get(self, pk: str, sk: str, attributes: Iterable[str] = ()) -> Item | None:
        """Reads one item consistently, or only the named attributes of it. None where there is no such item."""
        if any(len(text.encode()) > limit for text, limit in zip((pk, sk), MAX_KEY_BYTES, strict=True)):
            return None
        names = {f"#a{number}": name for number, name in enumerate(attributes)}
        projection: Any = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names} if names else {}

        def send() -> Item | None:
            request = self._request(Key=item_key(pk, sk), ConsistentRead=True, **projection)
            item = self._client().get_item(**request).get("Item")
            return deserialize_item(item) if item is not None else None

        with map_aws_errors():
            return await asyncio.to_thread(send)

    async def batch_get(self, keys: list[Item]) -> list[Item]:
        """The items that exist for these keys, in no order."""
        with map_aws_errors():
            found: list[Item] = []
            for start in range(0, len(keys), MAX_BATCH_KEYS):
                found += await asyncio.to_thread(self._batch_get, keys[start : start + MAX_BATCH_KEYS])
            return found

    async def query_page(self, **parameters: Any) -> dict[str, Any]:
        """Sends one Query request, and returns its response: one page of items."""

        def send() -> dict[str, Any]:
            page: Any = self._client().query(**self._request(**parameters))
            page["Items"] = [deserialize_item(item) for item in page.get("Items", [])]
            if "LastEvaluatedKey" in page:
                page["LastEvaluatedKey"] = deserialize_item(page["LastEvaluatedKey"])
            return page  # type: ignore[no-any-return]

        with map_aws_errors():
            return await asyncio.to_thread(send)

    async def query_pages(self, **parameters: Any) -> AsyncIterator[dict[str, Any]]:
        """The pages of a query, one request each."""
        while True:
            page = await self.query_page(**parameters)
            yield page
            if not page.get("LastEvaluatedKey"):
                return
            parameters["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    async def query_all(self, **parameters: Any) -> list[Item]:
        """The items of all pages of a query."""
        return [item async for page in self.query_pages(**parameters) for item in page["Items"]]

    def _batch_get(self, keys: list[Item]) -> list[Item]:
        found: list[Item] = []
        request: Any = {self._name: {"Keys": [serialize_item(key) for key in keys]}}
        while request and request.get(self._name, {}).get("Keys"):
            response = self._client().batch_get_item(RequestItems=request)
            found += [deserialize_item(item) for item in response["Responses"].get(self._name, [])]
            request = response.get("UnprocessedKeys")
        return found

    def _request(self, **parameters: Any) -> Any:
        """The parameters of a request for this table, with attribute values in DynamoDB's types."""
        converted = {name: serialize_item(parameters[name]) for name in parameters.keys() & ITEM_PARAMETERS}
        return {"TableName": self._name, **parameters, **converted}


def item_key(pk: str, sk: str) -> Item:
    return {"pk": pk, "sk": sk}


async def _retry_on_contention(write: Callable[[], None]) -> None:
    """Runs a write again that failed because another write to the same items was under way.

    Raises ConflictError where a condition does not hold.
    """
    for attempt in range(MAX_WRITE_ATTEMPTS):
        try:
            await asyncio.to_thread(write)
            return
        except ClientError as error:
            codes = _failure_codes(error)
            if "ConditionalCheckFailed" in codes:
                raise ConflictError("the task was changed by somebody else") from error
            if not codes & CONTENTION_CODES or attempt == MAX_WRITE_ATTEMPTS - 1:
                raise
        await asyncio.sleep(random.uniform(0.5, 1.0) * 0.05 * 2**attempt)  # noqa: S311 - jitter


def _failure_codes(error: ClientError) -> set[str]:
    """Why a write failed: the error's code, and the codes of a transaction's single actions."""
    reasons: Any = error.response.get("CancellationReasons", [])
    code = error.response["Error"]["Code"].removesuffix("Exception")
    return {code, *(reason.get("Code", "") for reason in reasons)}


def serialize_item(item: Item) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeSerializer

    serializer = TypeSerializer()
    return {name: serializer.serialize(value) for name, value in item.items()}


def deserialize_item(item: dict[str, Any]) -> Item:
    from boto3.dynamodb.types import TypeDeserializer

    deserializer = TypeDeserializer()
    return {name: deserializer.deserialize(value) for name, value in item.items()}
