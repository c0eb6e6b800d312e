"""Guarantees that can be tested without faults."""

from typing import Any

import pytest
import requests

from agentfn import Agent, File, Output, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import ScriptedModel, Stage, calls
from conftest import task_state


@tool(idempotent=True)
def draw() -> Output:
    """Draws a chart."""
    return Output("drawn", files=[File("chart.txt", b"chart")])


AGENT = Agent(name="clerk", description="A clerk for tests.", tools=[draw])


@pytest.mark.parametrize(
    ("asked", "state"),
    [
        (calls("ask_user", question="Which?"), "input_required"),
        (calls("request_auth", scheme="oauth2", message="Log in."), "auth_required"),
    ],
    ids=["input", "auth"],
)
def test_a_task_that_waits_for_its_user_holds_no_lease_no_message_and_no_place_in_the_sweep(
    asked: Any, state: str
) -> None:
    with Stage(AGENT, ScriptedModel(asked)) as stage:
        task = stage.send("Hi!", wait=False)
        stage.drain_queue()
        assert task_state(stage.get(task["id"])) == state
        [head] = [item for item in stage.table_items() if item["sk"]["S"] == "head"]
        assert not head["held"]["BOOL"]
        assert "open_key" not in head
        shown = aws_client("sqs").get_queue_attributes(QueueUrl=stage.resources.queue_url, AttributeNames=["All"])
        assert [value for name, value in shown["Attributes"].items() if name.startswith("Approx")] == ["0", "0", "0"]
        assert stage.sweep() == {"ended": 0, "resumed": 0}


def test_each_read_signs_its_links_anew_and_none_is_stored() -> None:
    with Stage(AGENT, ScriptedModel(calls("draw"), calls("finish", text="Done.", files=["chart.txt"]))) as stage:
        task = stage.send("Draw!")
        for shown in (task, stage.get(task["id"])):
            [artifact] = shown["artifacts"]
            assert requests.get(artifact["parts"][0]["url"], timeout=5).content == b"chart"
        assert "X-Amz-Signature" not in str(stage.table_items())
