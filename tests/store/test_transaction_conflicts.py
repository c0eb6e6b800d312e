"""Two writes that meet: DynamoDB refuses one of them, though nobody has won."""

import json
from typing import Any

import pytest
from botocore.stub import Stubber

from agentfn.aws_clients import aws_client
from agentfn.errors import AwsError, ConflictError
from agentfn.models import Turn
from agentfn.store.table import MAX_WRITE_ATTEMPTS, Table, serialize_item


def refused(stub: Stubber, *codes: str) -> None:
    reasons = [{"Code": code} for code in codes]
    stub.add_client_error(
        "transact_write_items", "TransactionCanceledException", modeled_fields={"CancellationReasons": reasons}
    )


PUT = {"Put": {"Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}}}


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda low, high: 0.0)


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_that_met_another_is_tried_again(world: Any, code: str) -> None:
    with Stubber(aws_client("dynamodb")) as stub:
        refused(stub, "None", code)
        refused(stub, code)
        stub.add_response("transact_write_items", {})
        world.run(Table(lambda: aws_client("dynamodb"), world.table).write(PUT))
        stub.assert_no_pending_responses()


def test_it_is_not_tried_for_ever(world: Any) -> None:
    with Stubber(aws_client("dynamodb")) as stub:
        for _ in range(MAX_WRITE_ATTEMPTS):
            refused(stub, "TransactionConflict")
        with pytest.raises(AwsError):
            world.run(world.tasks._table.write(PUT))
        stub.assert_no_pending_responses()


def test_a_condition_that_failed_is_lost_at_once_whatever_else_happened(world: Any) -> None:
    with Stubber(aws_client("dynamodb")) as stub:
        refused(stub, "TransactionConflict", "ConditionalCheckFailed")
        with pytest.raises(ConflictError):
            world.run(world.tasks._table.write(PUT))


@pytest.mark.parametrize("code", ["ValidationError", "ItemCollectionSizeLimitExceeded"])
def test_what_no_trying_helps_is_raised_at_once(world: Any, code: str) -> None:
    with Stubber(aws_client("dynamodb")) as stub:
        refused(stub, code)
        with pytest.raises(AwsError):
            world.run(world.tasks._table.write(PUT))


def test_a_renewal_that_meets_a_transaction_is_tried_again(world: Any) -> None:
    head = world.created()
    with Stubber(aws_client("dynamodb")) as stub:
        refused(stub, "TransactionConflict")
        stub.add_response("transact_write_items", {})
        assert world.run(world.tasks.renew_lease(head, 5.0)).lease_end == 5.0
        refused(stub, "ConditionalCheckFailed")
        with pytest.raises(ConflictError):
            world.run(world.tasks.renew_lease(head, 5.0))


def test_a_lease_whose_answer_was_lost_is_still_taken_once(world: Any) -> None:
    """botocore sends it again under the same token, and the table knows the token: that is why it is a transaction."""
    tokens: list[str] = []
    aws_client("dynamodb").meta.events.register(
        "before-call.dynamodb.TransactWriteItems",
        lambda params, **_: tokens.append(json.loads(params["body"])["ClientRequestToken"]),
    )
    world.run(world.tasks.acquire_lease(world.created(), 1e10))
    assert all(tokens)
    assert len(set(tokens)) == 2  # one for the creation, one for the lease


def test_keys_that_a_batch_left_over_are_asked_for_again(world: Any) -> None:
    keys = [{"pk": str(n), "sk": "head"} for n in range(3)]
    items = [serialize_item(key) for key in keys]
    with Stubber(aws_client("dynamodb")) as stub:
        stub.add_response(
            "batch_get_item",
            {"Responses": {world.table: items[:1]}, "UnprocessedKeys": {world.table: {"Keys": items[1:]}}},
        )
        stub.add_response("batch_get_item", {"Responses": {world.table: items[1:]}, "UnprocessedKeys": {}})
        assert world.run(world.tasks._table.batch_get(keys)) == keys


def test_a_turn_that_came_between_two_pages_of_a_load_is_not_half_read(world: Any) -> None:
    """The head counts its turns: what is beyond them came later, and whoever takes the task by that head loses."""
    head = world.run(world.tasks.create(world.head(), (), [Turn("user", "1")]))
    world.run(world.tasks.save(head, turns=[Turn("assistant", "2")]))
    aws_client("dynamodb").update_item(
        TableName=world.table,
        Key={"pk": {"S": head.partition_key}, "sk": {"S": "head"}},
        UpdateExpression="SET turns = :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )
    _, turns = world.run(world.tasks.read_with_turns("alice", "t1"))
    assert turns == [Turn("user", "1")]
