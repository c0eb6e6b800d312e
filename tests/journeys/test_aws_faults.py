"""AWS at its worst, each as a story of its own; the chaos tells them all at once."""

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from agentfn.aws_clients import aws_client
from agentfn.testing import ScriptedModel
from conftest import status_text


def test_a_queue_that_cannot_be_reached_does_not_stop_a_run_that_has_its_task(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    stage = play(ScriptedModel("Done."))
    task = stage.send("Hi!", wait=False)
    [message] = stage.receive_messages()

    def unreachable(request: Any, **_: Any) -> None:
        raise EndpointConnectionError(endpoint_url=request.url)

    event = "before-send.sqs.ChangeMessageVisibility"
    aws_client("sqs").meta.events.register_first(event, unreachable)
    try:
        assert stage.deliver_message(message) == {"batchItemFailures": []}
    finally:
        aws_client("sqs").meta.events.unregister(event, unreachable)
    assert status_text(stage.get(task["id"])) == "Done."
