"""Large results and long transcripts through the handler."""

import json
from typing import Any

import pytest
from a2a.types import Task

from agentfn import Agent, Output, tool
from agentfn.aws_clients import aws_client, s3_client
from agentfn.files import Bucket
from agentfn.models import ModelRequest, ToolCall, Turn
from agentfn.store import TaskRecord
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.table import serialize_item
from agentfn.store.transactions import put_turns
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, rpc_event
from agentfn.testing.stage import auth_headers
from conftest import status_text, task_state
from support.large_values import MAX_ITEM_BYTES, item_bytes, random_text

pytestmark = pytest.mark.slow

RESPONSE = 6 * 1024 * 1024  # bytes; Lambda gives no larger one
SHOWN = 30_000  # characters that the model sees of one result, unless set otherwise


@tool(idempotent=True)
def recite(size: int) -> str:
    """Recites a long text."""
    return random_text(size)


@tool(idempotent=True)
def report(size: int) -> Output:
    """Says a lot, and to the caller too."""
    return Output(random_text(size))


AGENT = Agent(name="clerk", description="A clerk for tests.", tools=[recite, report])


def write_transcript(stage: Stage, task_id: str, turns: list[Turn]) -> None:
    """As the store would have written it in many saves, in the time that a test has."""
    payloads = PayloadCodec(Bucket(s3_client, stage.resources.bucket, link_lifetime_seconds=3600))
    head = TaskRecord(AGENT.name, "alice", Task(id=task_id), expires=2**40)
    items = [serialize_item(action["Put"]["Item"]) for action in put_turns(head, turns, 1, payloads)]
    puts = [{"PutRequest": {"Item": item}} for item in items]
    for start in range(0, len(puts), 25):
        aws_client("dynamodb").batch_write_item(RequestItems={stage.resources.table: puts[start : start + 25]})
    aws_client("dynamodb").update_item(
        TableName=stage.resources.table,
        Key={"pk": {"S": head.partition_key}, "sk": {"S": "head"}},
        UpdateExpression="SET turns = :turns",
        ExpressionAttributeValues={":turns": {"N": str(1 + len(turns))}},
    )


def files_of(stage: Stage) -> dict[str, int]:
    found = aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket).get("Contents", [])
    return {item["Key"]: item["Size"] for item in found}


def body_of(stage: Stage, method: str, params: dict[str, Any]) -> str:
    return str(stage.handler(rpc_event(method, params, auth_headers("alice")), LocalLambdaContext(60))["body"])


def test_a_result_of_five_megabytes_is_cut_for_the_model_and_kept_whole() -> None:
    model = ScriptedModel(calls("recite", size=5_000_000), "That was long.")
    with Stage(AGENT, model) as stage:
        task = stage.send("Recite!")
        assert status_text(task) == "That was long."
        [shown] = [turn.text for turn in model.requests[-1].turns if turn.role == "tool"]
        assert len(shown) < SHOWN + 1_000
        assert max(item_bytes(item) for item in stage.table_items()) < MAX_ITEM_BYTES
        assert 5_000_000 in files_of(stage).values()
        assert len(body_of(stage, "GetTask", {"id": task["id"]})) < 100_000


def test_a_model_that_is_to_see_five_megabytes_sees_them_also_in_the_next_run() -> None:
    """The turn itself is over the item's limit: it goes to a file, and comes back unseen."""
    model = ScriptedModel(calls("recite", size=5_000_000), calls("ask_user", question="Go on?"), "That was long.")
    with Stage(AGENT, model, max_output_chars=6_000_000, max_history_chars=9_000_000) as stage:
        asked = stage.send("Recite!")
        assert max(item_bytes(item) for item in stage.table_items()) < MAX_ITEM_BYTES
        assert any("/spill/" in name for name in files_of(stage))
        done = stage.send("Yes.", taskId=asked["id"])
        assert status_text(done) == "That was long."
        assert random_text(5_000_000) in [turn.text for turn in model.requests[-1].turns if turn.role == "tool"]
        assert len(body_of(stage, "GetTask", {"id": asked["id"]})) < RESPONSE


def test_nine_hundred_kilobytes_of_transcript_are_no_item_and_no_answer_that_is_too_large() -> None:
    steps = [calls("report", size=300_000 + place) for place in range(3)]
    model = ScriptedModel(*steps, random_text(900_000, 2))
    with Stage(AGENT, model, max_output_chars=400_000, max_history_chars=9_000_000) as stage:
        task = stage.send("Report!")
        assert status_text(task) == random_text(900_000, 2)
        assert max(item_bytes(item) for item in stage.table_items()) < MAX_ITEM_BYTES
        assert sum(len(turn.text) for turn in model.requests[-1].turns) > 900_000
        assert len(body_of(stage, "GetTask", {"id": task["id"]})) < RESPONSE
        assert len(body_of(stage, "ListTasks", {})) < RESPONSE


def test_a_long_list_ends_its_page_early_and_goes_on_where_it_ended() -> None:
    with Stage(AGENT, ScriptedModel(*[random_text(900_000, 2)] * 7)) as stage:
        made = {stage.send("Recite!")["id"] for _ in range(7)}
        seen: list[str] = []
        token = ""
        while token or not seen:
            body = body_of(stage, "ListTasks", {"pageToken": token})
            assert len(body) < RESPONSE
            page = json.loads(body)["result"]
            seen += [task["id"] for task in page["tasks"]]
            token = page.get("nextPageToken", "")
    assert (len(seen), set(seen), page["totalSize"]) == (7, made, 7)


def test_of_a_history_that_no_answer_holds_the_newest_is_shown() -> None:
    asked = [calls("ask_user", question=random_text(900_000, number)) for number in range(8)]
    room: dict[str, Any] = {"max_history_chars": 9_000_000, "max_argument_chars": 1_000_000}
    with Stage(AGENT, ScriptedModel(*asked, "Done."), **room) as stage:
        task = stage.send("Recite!")
        for number in range(8):
            task = stage.send(f"Answer {number}", taskId=task["id"])
        body = body_of(stage, "GetTask", {"id": task["id"]})
    assert len(body) < RESPONSE
    said = [message["parts"][0]["text"] for message in json.loads(body)["result"]["history"]]
    assert said[-1] == "Answer 7"
    assert "Answer 0" not in said


def long_transcript(steps: int) -> list[Turn]:
    turns: list[Turn] = []
    for step in range(steps):
        call = ToolCall(f"call_{step + 1}_1", "recite", json.dumps({"size": step}))
        turns += [
            Turn("assistant", tool_calls=(call,)),
            Turn("tool", f"result {step}", tool_call_id=call.id, tool_name="recite"),
        ]
    return turns


def test_a_transcript_of_three_thousand_turns_goes_on_with_the_next_step() -> None:
    seen: list[int] = []

    def answer(prompt: ModelRequest) -> Any:
        seen.append(len(prompt.turns))
        return "Done." if len(seen) > 1 else calls("recite", size=2)

    with Stage(AGENT, ScriptedModel.from_function(answer), max_steps=2_000) as stage:
        task = stage.send("Work!", wait=False)
        write_transcript(stage, task["id"], long_transcript(1_500))
        stage.aws_calls.clear()
        stage.drain_queue()
        done = stage.get(task["id"])
        assert task_state(done) == "completed"
        assert seen == [3_001, 3_003]
        assert (
            stage.write_count == 4
        )  # lease, the model's turn, its result, the end: none is larger for the 3,001 before
        assert len(json.dumps(done)) < 10_000
