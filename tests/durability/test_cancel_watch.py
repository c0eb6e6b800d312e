"""A run checks every two seconds whether its task was cancelled or taken over."""

import threading
import time
from typing import Any

from agentfn import Agent
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, pause, queue_event


def test_a_run_with_all_the_time_in_the_world_sees_a_cancel_in_the_middle_of_a_model_call() -> None:
    """Its lease is long and fresh, so it is no renewal that meets the cancel by chance."""
    model = ScriptedModel(pause(60), "Too late.")
    with Stage(Agent(name="clerk", description="A clerk for tests."), model) as stage:
        task = stage.send("Hi!", wait=False)
        [message] = stage.receive_messages()
        process: Any = stage.new_environment()
        thread = threading.Thread(target=lambda: process(queue_event(message), LocalLambdaContext(900)), daemon=True)
        thread.start()
        while not model.requests:
            time.sleep(0.02)
        started = time.monotonic()
        stage.cancel(task["id"])
        thread.join(timeout=60)
        assert not thread.is_alive(), "it never saw the cancel"
        assert time.monotonic() - started < 20
