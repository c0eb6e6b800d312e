"""What the deployed agent's role reaches: its own tasks and files, and nobody else's.

That it reaches enough is proved by the stories beside this one, because the emulator enforces it there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from e2e.a2a_client import AgentClient
from e2e.deployment import Account
from e2e.emulator.process import REGION

pytestmark = pytest.mark.timeout(900)

ClientMaker = Callable[[str], Any]


@pytest.fixture(scope="module")
def as_agent(account: Account, analyst: AgentClient) -> ClientMaker:
    """Clients with the role's own policy. Only Lambda may take the role itself, so a user is given a copy."""
    iam = account.client("iam")
    names = [role["RoleName"] for role in iam.list_roles()["Roles"]]
    (role,) = [name for name in names if name.startswith("agentfn-Analyst-")]
    policy = iam.get_role_policy(RoleName=role, PolicyName="agent")["PolicyDocument"]
    iam.create_user(UserName="as-the-agent")
    iam.put_user_policy(UserName="as-the-agent", PolicyName="agent", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName="as-the-agent")["AccessKey"]
    session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name=REGION)
    return lambda service: session.client(service, endpoint_url=account.endpoint)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def storage(account: Account, analyst: AgentClient) -> dict[str, str]:
    return account.outputs("agentfn")


def refused(call: Callable[..., Any], **arguments: Any) -> bool:
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in {"AccessDeniedException", "AccessDenied"}:
            raise
        return True
    return False


def item(agent: str) -> dict[str, Any]:
    return {"pk": {"S": f"{agent}#caller#task"}, "sk": {"S": "head"}}


def test_only_the_agents_own_keys_are_reached(as_agent: ClientMaker, storage: dict[str, str]) -> None:
    table, name = as_agent("dynamodb"), storage["TableName"]
    for agent, outcome in (("analyst", False), ("other", True)):
        key = {":key": {"S": f"{agent}#caller#task"}}
        owner = {":key": {"S": f"{agent}#caller"}}
        update = {"Update": {"TableName": name, "Key": item(agent), "UpdateExpression": "REMOVE x"}}
        by_owner = {"IndexName": "by_owner", "KeyConditionExpression": "owner_key = :key"}
        assert refused(table.put_item, TableName=name, Item=item(agent)) is outcome
        assert refused(table.get_item, TableName=name, Key=item(agent)) is outcome
        assert refused(table.batch_get_item, RequestItems={name: {"Keys": [item(agent)]}}) is outcome
        assert refused(table.transact_write_items, TransactItems=[update]) is outcome
        search = {"KeyConditionExpression": "pk = :key", "ExpressionAttributeValues": key}
        assert refused(table.query, TableName=name, **search) is outcome
        assert refused(table.query, TableName=name, ExpressionAttributeValues=owner, **by_owner) is outcome


def test_one_foreign_key_spoils_the_whole_transaction(as_agent: ClientMaker, storage: dict[str, str]) -> None:
    puts = [{"Put": {"TableName": storage["TableName"], "Item": item(agent)}} for agent in ("analyst", "other")]
    assert refused(as_agent("dynamodb").transact_write_items, TransactItems=puts)


def test_the_whole_table_is_never_read(as_agent: ClientMaker, storage: dict[str, str]) -> None:
    assert refused(as_agent("dynamodb").scan, TableName=storage["TableName"])


def test_only_the_agents_own_files_are_reached(as_agent: ClientMaker, storage: dict[str, str]) -> None:
    files, bucket = as_agent("s3"), storage["BucketName"]
    assert not refused(files.put_object, Bucket=bucket, Key="analyst/caller/task/a.txt", Body=b"a")
    assert not refused(files.get_object, Bucket=bucket, Key="analyst/caller/task/a.txt")
    assert refused(files.put_object, Bucket=bucket, Key="other/caller/task/a.txt", Body=b"a")
    assert refused(files.get_object, Bucket=bucket, Key="other/caller/task/a.txt")
    assert refused(files.list_objects_v2, Bucket=bucket)


def test_other_secrets_and_queues_are_out_of_reach(as_agent: ClientMaker, account: Account) -> None:
    secret = account.client("secretsmanager").create_secret(Name="somebody-elses", SecretString="{}")["ARN"]
    queue = account.client("sqs").create_queue(QueueName="somebody-elses")["QueueUrl"]
    assert refused(as_agent("secretsmanager").get_secret_value, SecretId=secret)
    assert refused(as_agent("sqs").send_message, QueueUrl=queue, MessageBody="hello")
