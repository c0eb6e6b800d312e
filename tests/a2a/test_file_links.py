"""Links to files: signed when they are read, honest about their end, and an address beside them that stays."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import botocore.auth
import pytest
import requests

from agentfn import Agent, ConfigurationError, Context, File, Output, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, rpc_event
from agentfn.testing.moto_support import boto3_session
from agentfn.testing.stage import auth_headers
from support.raw_http_server import RawHttpServer, http_response

CONTENT = b"%PDF-1.7"
NAME = "résumé 2026.pdf"
HOSTILE = '../../other/x"\r\nA: b.pdf'
GATEWAY = "https://abc123.execute-api.eu-central-1.amazonaws.com/prod"


@tool(idempotent=True)
def write(name: str) -> Output:
    """Writes a file."""
    return Output("written", files=[File(name, CONTENT, "application/pdf")])


@tool(idempotent=True)
def recite() -> str:
    """Recites a text that is kept for the model alone."""
    return "x" * 40_000


AGENT = Agent(name="clerk", description="A clerk.", tools=[write, recite])


def played(*steps: Any) -> ScriptedModel:
    return ScriptedModel(*steps, "Done.")


def part_of(task: dict[str, Any], name: str = NAME) -> dict[str, Any]:
    [part] = [part for artifact in task["artifacts"] for part in artifact["parts"] if part["filename"] == name]
    return dict(part)


def path_of(part: dict[str, Any]) -> str:
    """Of a file's own address, as the agent knows it."""
    address: str = part["metadata"]["agentfn"]["file"]
    assert address.startswith(f"{GATEWAY}/files/")
    return address.removeprefix(GATEWAY)


def expires(part: dict[str, Any]) -> datetime:
    return datetime.strptime(part["metadata"]["expires"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def signed(link: str) -> tuple[datetime, timedelta]:
    """When a link was signed, and for how long."""
    query = parse_qs(urlsplit(link).query)
    begun = datetime.strptime(query["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return begun, timedelta(seconds=int(query["X-Amz-Expires"][0]))


@contextmanager
def later(**time: float) -> Iterator[None]:
    """As far as signatures know the time."""
    then = datetime.now(UTC) + timedelta(**time)
    with patch.object(botocore.auth, "get_current_datetime", lambda remove_tzinfo=True: then.replace(tzinfo=None)):
        yield


@pytest.mark.parametrize(
    ("name", "safe", "disposition"),
    [
        (NAME, NAME, "inline; filename=\"resume 2026.pdf\"; filename*=UTF-8''r%C3%A9sum%C3%A9%202026.pdf"),
        (HOSTILE, "xA: b.pdf", "inline; filename=\"xA: b.pdf\"; filename*=UTF-8''xA%3A%20b.pdf"),
    ],
)
def test_a_link_downloads_under_the_name_that_the_file_has(name: str, safe: str, disposition: str) -> None:
    with Stage(AGENT, played(calls("write", name=name))) as stage:
        task = stage.send("Write!")
        link = part_of(task, safe)["url"]
        download = requests.get(link, timeout=5)
        [key] = [one["Key"] for one in aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket)["Contents"]]
    assert download.content == CONTENT
    assert download.headers["Content-Disposition"] == disposition
    assert "A" not in download.headers
    assert str(urlsplit(link).hostname).endswith(".s3.eu-central-1.amazonaws.com")
    assert parse_qs(urlsplit(link).query)["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert key.startswith(f"clerk/alice/{task['id']}/produced/")
    assert key.rsplit("/", 1)[-1].isalnum()


def test_two_hours_later_there_is_a_new_link_and_the_address_is_the_same() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        task = stage.send("Write!", files={"in.txt": b"in"})
        old = part_of(task)
        with later(hours=2):
            new = part_of(stage.get(task["id"]))
            asked = stage.request("GET", path_of(old), caller="alice")
        stored = str(stage.table_items())
    assert new["url"] != old["url"]
    assert path_of(new) == path_of(old)
    assert expires(new) - expires(old) >= timedelta(hours=2)
    assert expires(old) < signed(new["url"])[0] < expires(new)
    assert signed(asked["headers"]["location"])[0] == signed(new["url"])[0]
    assert "X-Amz" not in stored
    assert "/files/" not in stored
    assert [path_of(part)[:7] for part in task["history"][0]["parts"] if "url" in part] == ["/files/"]


def test_a_life_of_thirty_days_is_refused_when_the_agent_starts() -> None:
    with pytest.raises(ConfigurationError, match=r"AGENTFN_LINK_SECONDS: .* less than or equal to 604800"):
        Stage(AGENT, played(), link_seconds=30 * 24 * 3600).__enter__()


DAY = 24 * 3600


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """An environment with a session's credentials. The boto3 session that stages share would not read them again."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    boto3_session.cache_clear()
    yield monkeypatch
    boto3_session.cache_clear()


def test_a_link_of_a_user_s_own_key_lives_as_long_as_set() -> None:
    with Stage(AGENT, played(calls("write", name=NAME)), link_seconds=DAY) as stage:
        part = part_of(stage.send("Write!"))
    begun, life = signed(part["url"])
    assert (life, expires(part)) == (timedelta(days=1), begun + timedelta(days=1))


@pytest.mark.parametrize(("link_seconds", "promised"), [(DAY, 900), (600, 600)])
def test_of_a_session_that_does_not_say_when_it_ends_no_more_is_promised_than_one_invocation(
    session: pytest.MonkeyPatch, link_seconds: int, promised: int
) -> None:
    """As Lambda hands over its role's credentials."""
    with Stage(AGENT, played(calls("write", name=NAME)), link_seconds=link_seconds) as stage:
        part = part_of(stage.send("Write!"))
        offer = stage.request("POST", "/uploads", caller="alice", body='{"name": "a"}')
    begun, life = signed(part["url"])
    assert life == timedelta(seconds=link_seconds)
    assert expires(part) == begun + timedelta(seconds=promised)
    fields = json.loads(offer["body"])["fields"]
    assert fields["x-amz-security-token"] == "token"


def test_of_a_session_that_says_when_it_ends_nothing_is_promised_beyond(session: pytest.MonkeyPatch) -> None:
    end = (datetime.now(UTC) + timedelta(hours=3)).replace(microsecond=0)
    session.setenv("AWS_CREDENTIAL_EXPIRATION", end.isoformat())
    with Stage(AGENT, played(calls("write", name=NAME)), link_seconds=DAY) as stage:
        assert expires(part_of(stage.send("Write!"))) == end


def test_the_address_leads_its_owner_to_a_fresh_link_and_nobody_else_anywhere() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        task = stage.send("Write!", files={"in.txt": b"in"})
        produced, attached = part_of(task), next(part for part in task["history"][0]["parts"] if "url" in part)
        for part, content in ((produced, CONTENT), (attached, b"in")):
            onward = stage.request("GET", path_of(part), caller="alice")
            assert onward["statusCode"] == 302
            assert onward["headers"]["cache-control"] == "no-store"
            assert requests.get(onward["headers"]["location"], timeout=5).content == content
            missing = stage.request("GET", path_of(part), caller="bob")
            assert stage.request("GET", path_of(part))["statusCode"] == 401
            unknown = path_of(part).replace(task["id"], "00000000-0000-4000-8000-000000000000")
            assert stage.request("GET", unknown, caller="alice") == missing
            assert (missing["statusCode"], missing["headers"]["cache-control"]) == (404, "no-store")
            assert json.loads(missing["body"]) == {"error": "There is no such file, or it has expired."}


def test_only_an_id_is_looked_up() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        task = stage.send("Write!")
        file_id = path_of(part_of(task)).removeprefix("/files/")
        key = f"clerk/alice/{task['id']}/produced/{file_id[-32:]}"
        stage.aws_calls.clear()
        for text in (
            "", "x", task["id"], f"{task['id']}.", f"{file_id}0", f"{file_id}%0A", file_id.upper(), key,
            key.replace("/", "%2F"), f"..%2F{file_id}", f"{task['id']}.{'g' * 32}", NAME, "é", "%00", "a" * 5_000,
        ):  # fmt: skip
            assert stage.request("GET", f"/files/{text}", caller="alice")["statusCode"] in (404, 405), text
        assert (stage.read_count, stage.aws_calls["HeadObject"]) == (0, 0)


def test_what_is_kept_for_the_model_alone_has_no_address() -> None:
    with Stage(AGENT, played(calls("recite"))) as stage:
        task = stage.send("Recite!")
        [key] = [one["Key"] for one in aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket)["Contents"]]
        assert "/hidden/" in key
        hidden = f"/files/{task['id']}.{key.rsplit('/', 1)[-1]}"
        assert stage.request("GET", hidden, caller="alice")["statusCode"] == 404


def test_a_file_that_its_bucket_has_no_longer_is_not_linked_to() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        path = path_of(part_of(stage.send("Write!")))
        [one] = aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket)["Contents"]
        aws_client("s3").delete_object(Bucket=stage.resources.bucket, Key=one["Key"])
        assert stage.request("GET", path, caller="alice")["statusCode"] == 404


def test_a_place_that_cannot_be_reached_is_said_to_be_so() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        path = path_of(part_of(stage.send("Write!")))
        aws_client("dynamodb").delete_table(TableName=stage.resources.table)
        refused = stage.request("GET", path, caller="alice")
    assert refused["statusCode"] == 503
    assert json.loads(refused["body"]) == {
        "error": "The file's place cannot be reached at the moment; the agent's log says why."
    }


def test_a_task_of_the_first_protocol_says_the_same() -> None:
    with Stage(AGENT, played(calls("write", name=NAME))) as stage:
        task = stage.send("Write!")
        old = stage.rpc("tasks/get", {"id": task["id"]})
    [part] = old["artifacts"][0]["parts"]
    assert part["file"]["name"] == NAME
    assert part["metadata"]["agentfn"] == part_of(task)["metadata"]["agentfn"]
    begun, life = signed(part["file"]["uri"])
    assert part["metadata"]["expires"] == f"{begun + life:%Y-%m-%dT%H:%M:%SZ}"


def test_a_stream_and_a_webhook_tell_of_a_file_as_a_read_does() -> None:
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Write!"}]}
    told: list[bytes] = []
    with (
        RawHttpServer(http_response(b"")) as webhook,
        Stage(AGENT, played(calls("write", name=NAME)), fetch_loopback=True, streaming=True) as stage,
    ):
        params = {"message": said, "configuration": {"taskPushNotificationConfig": {"url": webhook.url}}}
        request = rpc_event("SendStreamingMessage", params, auth_headers("alice"))
        stage.handler.stream(request, LocalLambdaContext(60), lambda message: told.append(message.get("body", b"")))
        url = stage.resources.queue_url
        aws_client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
        while not any(b"artifactUpdate" in body for body in webhook.bodies):
            stage.drain_queue()
            time.sleep(0.05)
        streamed = [json.loads(line[6:]) for line in b"".join(told).split(b"\n") if line.startswith(b"data: ")]
        [event] = [one["result"]["artifactUpdate"] for one in streamed if "artifactUpdate" in one["result"]]
        [notice] = [json.loads(body)["artifactUpdate"] for body in webhook.bodies if b"artifactUpdate" in body]
        read = part_of(stage.get(event["taskId"]))
    for update in (event, notice):
        [part] = update["artifact"]["parts"]
        assert path_of(part) == path_of(read)
        begun, life = signed(part["url"])
        assert expires(part) == begun + life
        assert expires(part) <= expires(read)


def test_behind_a_domain_of_one_s_own_the_address_is_that_one() -> None:
    with Stage(AGENT, played(calls("write", name=NAME)), public_url="https://clerk.example.com/a") as stage:
        part = part_of(stage.send("Write!"))
    assert part["metadata"]["agentfn"]["file"].startswith("https://clerk.example.com/a/files/")


def test_a_tool_s_file_that_lies_elsewhere_keeps_its_own_address() -> None:
    @tool(idempotent=True)
    def export(context: Context) -> str:
        """Exports a report."""
        return json.dumps({"download_url": "https://files.example.com/q1.pdf", "filename": "q1.pdf"})

    with Stage(Agent(name="clerk", description="A clerk.", tools=[export]), played(calls("export"))) as stage:
        part = part_of(stage.send("Export!"), "q1.pdf")
    assert part["url"] == "https://files.example.com/q1.pdf"
    assert "metadata" not in part
