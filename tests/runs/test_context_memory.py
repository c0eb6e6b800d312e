"""What a task is told of earlier ones: of its context, and those that its message refers to."""

import itertools
from collections.abc import Callable
from typing import Any, Literal

import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from botocore.exceptions import EndpointConnectionError

from agentfn import Agent, tool
from agentfn.aws_clients import aws_client
from agentfn.models import ModelRequest, ModelResponse, Usage
from agentfn.runs.conversation import Utterance, fit_to_budget, total_chars
from agentfn.testing import RpcError, ScriptedModel, Stage, calls
from conftest import status_text, task_state
from durability.crash_injection import CrashableStage
from loop.loop_harness import check_request

READS = ("Query", "BatchGetItem", "GetItem")


def said(prompt: ModelRequest) -> list[tuple[str, str]]:
    """What the model was shown, in a form that any provider takes."""
    check_request(prompt)
    return [(turn.role, turn.text) for turn in prompt.turns]


def reads_of(stage: Stage) -> dict[str, int]:
    return {name: stage.aws_calls[name] for name in READS if stage.aws_calls[name]}


def change_heads(stage: Stage, name: str, value: dict[str, Any]) -> None:
    for item in stage.table_items():
        if item["sk"]["S"] == "head":
            aws_client("dynamodb").update_item(
                TableName=stage.resources.table,
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET #name = :value",
                ExpressionAttributeNames={"#name": name},
                ExpressionAttributeValues={":value": value},
            )


def test_a_new_task_sees_what_was_said_in_its_context_oldest_first(play: Any) -> None:
    model = ScriptedModel("Rain.", calls("ask_user", question="Which day?"), "Snow.", "Rain, then snow.")
    stage = play(model)
    first = stage.send("Weather in Rome?")
    context = first["contextId"]
    asked = stage.send("And in Oslo?", contextId=context)
    stage.send("On Monday.", taskId=asked["id"])
    stage.send("Sum it up.", contextId=context)
    assert said(model.requests[-1]) == [
        ("user", "Weather in Rome?"),
        ("assistant", "Rain."),
        ("user", "And in Oslo?"),
        ("assistant", "Which day?"),
        ("user", "On Monday."),
        ("assistant", "Snow."),
        ("user", "Sum it up."),
    ]


def test_the_task_itself_is_as_it_would_be_without_a_memory(play: Any) -> None:
    """Its history, its steps and its usage are its own."""
    model = ScriptedModel(ModelResponse("Rain.", usage=Usage(100, 10)), ModelResponse("Snow.", usage=Usage(7, 1)))
    stage = play(model)
    first = stage.send("Weather in Rome?")
    second = stage.send("And in Oslo?", contextId=first["contextId"])
    assert [message["parts"][0]["text"] for message in second["history"]] == ["And in Oslo?"]
    about = second["metadata"]["agentfn"]
    assert (about["steps"], about["usage"]["prompt"]) == (1, 7)
    assert "artifacts" not in second


def test_it_costs_one_query_and_one_read_and_nothing_without_a_context(play: Any) -> None:
    stage = play(ScriptedModel("Rain.", "Nothing.", "Snow.", "Hail."))
    first = stage.send("Weather in Rome?")
    assert reads_of(stage) == {}
    stage.send("Do you know me?", contextId="new to it")
    assert reads_of(stage) == {"Query": 1}
    stage.aws_calls.clear()
    for text in ("And in Oslo?", "And in Bern?"):
        stage.send(text, contextId=first["contextId"])
    assert reads_of(stage) == {"Query": 2, "BatchGetItem": 2}


def test_a_memory_of_no_characters_is_none(play: Any) -> None:
    model = ScriptedModel("Rain.", "Snow.")
    stage = play(model, memory_chars=0)
    first = stage.send("Weather in Rome?", files={"a.csv": b"1"})
    stage.send("And in Oslo?", contextId=first["contextId"])
    assert said(model.requests[-1]) == [("user", "And in Oslo?")]
    assert reads_of(stage) == {}


def test_another_caller_s_context_of_that_name_is_another_one(play: Any) -> None:
    """Whoever guesses a context id learns nothing by it."""
    model = ScriptedModel("Hers.", "His.", "Hers again.")
    stage = play(model)
    stage.send("A secret of Alice's.", contextId="shared", files={"secret.csv": b"1"})
    stage.send("What was said?", contextId="shared", caller="bob")
    assert said(model.requests[-1]) == [("user", "What was said?")]
    stage.send("And now?", contextId="shared")
    assert [text for _, text in said(model.requests[-1])][1:] == ["Hers.", "And now?"]


def test_the_newest_is_kept_and_a_long_answer_is_cut_with_a_note(play: Any) -> None:
    model = ScriptedModel("first", "x" * 5_000, "y" * 300, "So.")
    stage = play(model, memory_chars=1_500)
    for text in ("One.", "Two.", "Three.", "Four."):
        stage.send(text, contextId="c")
    two, long, three, short, four = [text for _, text in said(model.requests[-1])]
    assert (two, three, short, four) == ("Two.", "Three.", "y" * 300, "Four.")
    assert long.startswith("xxx")
    assert long.endswith("more characters are left out here)")
    assert 1_400 < len(two + long + three + short) <= 1_500


def a_talk(*lengths: int) -> list[Utterance]:
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    return [Utterance(roles[place % 2], "x" * length) for place, length in enumerate(lengths)]


@pytest.mark.parametrize("lengths", [(1, 1), (9_000, 3), (3, 9_000), (500, 500, 500, 500), (0, 0, 9_000, 1), ()])
def test_what_is_kept_of_a_talk_fits_and_is_begun_by_the_user(lengths: tuple[int, ...]) -> None:
    talk = a_talk(*lengths)
    for room, most in itertools.product([0, 1, 199, 200, 399, 400, 401, 999, 1_000, 5_000, 10**6], [0, 1, 2, 3, 40]):
        kept = fit_to_budget(talk, room, most)
        assert len(kept) <= most
        assert total_chars(kept) <= room
        assert [words.role for words in kept] == [words.role for words in talk][len(talk) - len(kept) :]
        assert not kept or kept[0].role == "user"
        assert kept or not talk or most < 2 or room < 400
        assert kept == talk or total_chars(talk) > room or most < len(talk)


def test_files_of_earlier_tasks_can_be_opened_and_are_not_handed_over_again(play: Any) -> None:
    model = ScriptedModel(
        calls("draw"),
        "Drawn.",
        (calls("count_bytes", file="sales.csv"), calls("count_bytes", file="chart.svg")),
        calls("draw"),
        "Drawn anew.",
        "Three tasks.",
    )
    stage = play(model)
    first = stage.send("Chart it.", files={"sales.csv": b"region,sum\nnorth,1"})
    stage.aws_calls.clear()
    second = stage.send("The same by region.", contextId=first["contextId"])
    assert stage.aws_calls["PutObject"] == 1  # the new chart: nothing was copied
    told = said(model.requests[2])
    assert told[0][1].startswith("Chart it.\n\nAttached files:\n- sales.csv (text/csv, 18 bytes)")
    assert "Files that were made for this:\n- chart.svg (image/svg+xml" in told[0][1]
    assert told[1:] == [("assistant", "Drawn."), ("user", "The same by region.")]
    assert [text for role, text in said(model.requests[3]) if role == "tool"] == ["sales.csv: 18", "chart.svg: 41"]
    assert [artifact["name"] for artifact in second["artifacts"]] == ["chart (2).svg"]
    assert len(second["history"][0]["parts"]) == 1
    stage.send("How many?", contextId=first["contextId"])
    assert "- chart (2).svg" in said(model.requests[-1])[2][1]


def test_a_new_file_keeps_its_name_and_the_older_one_gets_a_number(play: Any) -> None:
    model = ScriptedModel("Old.", calls("count_bytes", file="a.csv"), calls("count_bytes", file="a (2).csv"), "New.")
    stage = play(model)
    first = stage.send("Read a.csv.", files={"a.csv": b"1"})
    stage.send("Read the new a.csv.", files={"a.csv": b"22"}, contextId=first["contextId"])
    told = [text for _, text in said(model.requests[-1])]
    assert "- a (2).csv" in told[0]
    assert "- a.csv (text/csv, 2 bytes)" in told[2]
    assert [text for role, text in said(model.requests[-1]) if role == "tool"] == ["a.csv: 2", "a (2).csv: 1"]


def test_files_go_on_from_task_to_task_when_the_words_are_long_forgotten(play: Any) -> None:
    """The user's come first where there are too many."""
    model = ScriptedModel(calls("draw"), "a" * 900, "b" * 900, calls("count_bytes", file="sales.csv"), "It is there.")
    stage = play(model, memory_chars=1_000, max_files=1)
    first = stage.send("Chart it.", files={"sales.csv": b"123"})
    for text in ("More.", "By region."):
        stage.send(text, contextId=first["contextId"])
    told = said(model.requests[-1])
    assert told[0][1] == "More.\n\nFiles from before this:\n- sales.csv (text/csv, 3 bytes)"
    assert told[-1] == ("tool", "sales.csv: 3")


def test_a_file_whose_object_is_gone_is_a_mistake_that_the_model_is_told(play: Any) -> None:
    model = ScriptedModel("Read.", calls("count_bytes", file="a.csv"), "It is gone.")
    stage = play(model)
    first = stage.send("Read it.", files={"a.csv": b"1"})
    [found] = aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket)["Contents"]
    aws_client("s3").delete_object(Bucket=stage.resources.bucket, Key=found["Key"])
    task = stage.send("Again.", contextId=first["contextId"])
    assert status_text(task) == "It is gone."
    assert "no longer in the bucket" in said(model.requests[-1])[-1][1]


def test_what_did_not_end_well_is_told_as_it_ended(play: Any) -> None:
    model = ScriptedModel(
        calls("reject_task", reason="Not mine."),
        ModelResponse("", finish_reason="content_filter"),
        "Now it works.",
        "So.",
    )
    stage = play(model)
    stage.send("Fly!", contextId="c")
    stage.send("Say it!", contextId="c")
    under_way = stage.send("Look!", contextId="c", wait=False)
    gone = stage.send("Wait!", contextId="c", wait=False)
    stage.cancel(gone["id"])
    stage.send("And now?", contextId="c")
    told = dict(zip(*[iter(text for _, text in said(model.requests[-1])[:-1])] * 2, strict=True))
    assert told["Fly!"] == "Not mine."
    assert told["Say it!"].startswith("(This failed: The model's provider stopped")
    assert told["Wait!"] == "(This was canceled before it was done.)"
    assert told["Look!"] == "(This is still being worked on.)"
    assert task_state(under_way) == "submitted"


def test_an_expired_task_is_not_remembered(play: Any) -> None:
    model = ScriptedModel("Old.", "New.")
    stage = play(model)
    first = stage.send("Long ago.", contextId="c")
    change_heads(stage, "expires", {"N": "1000"})
    stage.send("Now.", contextId="c")
    assert said(model.requests[-1]) == [("user", "Now.")]
    with pytest.raises(RpcError, match="no such task"):
        stage.send("That one.", referenceTaskIds=[first["id"]])


def test_a_task_of_a_later_agentfn_is_left_out_and_does_no_harm(play: Any) -> None:
    model = ScriptedModel("Old.", "New.")
    stage = play(model)
    stage.send("Before.", contextId="c")
    change_heads(stage, "schema", {"N": "99"})
    stage.send("Now.", contextId="c")
    assert said(model.requests[-1]) == [("user", "Now.")]


def test_a_memory_that_cannot_be_read_fails_the_message_and_nothing_is_lost(
    play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    model = ScriptedModel("Rain.", "Snow.")
    stage = play(model)
    first = stage.send("Rome?")
    stage.aws_calls.clear()

    def unreachable(request: Any, **_: Any) -> None:
        raise EndpointConnectionError(endpoint_url=request.url)

    event = "before-send.dynamodb.Query"
    aws_client("dynamodb").meta.events.register_first(event, unreachable)
    try:
        with pytest.raises(RpcError) as error:
            stage.send("Oslo?", contextId=first["contextId"], messageId="m2", files={"a.csv": b"1"})
    finally:
        aws_client("dynamodb").meta.events.unregister(event, unreachable)
    assert error.value.code == -32603
    assert (stage.write_count, stage.aws_calls["PutObject"], stage.aws_calls["SendMessage"]) == (0, 0, 0)
    assert status_text(stage.send("Oslo?", contextId=first["contextId"], messageId="m2")) == "Snow."


def test_a_run_that_follows_a_dead_one_reads_no_memory_and_shows_the_same_prompt(agent: Agent) -> None:
    model = ScriptedModel("Rain.", calls("now"), "Snow.", "Other.")
    with Stage(agent, model) as stage:
        ward = CrashableStage(stage)
        stage.send("Rome?", contextId="c")
        stage.send("Oslo?", contextId="c", wait=False)
        letter = ward.queue_event(ward.injector.sent[-1])
        assert ward.invoke(letter, at=4) is None  # before the result of its tool is saved
        seen = said(model.requests[1])
        stage.send("Something else.", contextId="c", messageId="m9")  # while it lies there
        ward.expire_leases()
        ward.invoke(letter)
        assert "BatchGetItem" not in ward.injector.calls
        assert ward.injector.calls.count("Query") == 1  # its own transcript
    assert said(model.requests[-1])[: len(seen)] == seen


def test_the_work_of_an_agent_is_about_the_new_message_and_inner_loops_know_no_other() -> None:
    class Planner(Agent):
        name = "planner"
        description = "Plans."

        async def handle(self, task: Any) -> Any:
            inner = await task.run_nested("plan", task.message)
            yield task.completed(inner.text)

    model = ScriptedModel("A plan.", "Another.")
    with Stage(Planner(), model) as stage:
        stage.send("Plan this.", contextId="c")
        stage.send("Plan that.", contextId="c")
    assert [said(prompt) for prompt in model.requests] == [[("user", "Plan this.")], [("user", "Plan that.")]]


class Mute(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def test_an_executor_remembers_for_itself() -> None:
    with Stage(Agent(name="other", description="Another framework's."), executor=Mute()) as stage:
        stage.send("One.", contextId="c", wait=False, referenceTaskIds=["none"])
        stage.drain_queue()
        stage.aws_calls.clear()
        stage.send("Two.", contextId="c", wait=False)
        assert reads_of(stage) == {}


def test_a_task_that_a_message_refers_to_is_told_with_its_files(play: Any) -> None:
    model = ScriptedModel(calls("draw"), "Drawn.", "Rain.", calls("count_bytes", file="chart.svg"), "Fine.")
    stage = play(model, memory_chars=0)  # it was asked for
    chart = stage.send("Chart it.", files={"a.csv": b"1"})
    other = stage.send("Rome?")
    stage.aws_calls.clear()
    task = stage.send("Compare them.", referenceTaskIds=[chart["id"], other["id"], chart["id"]])
    assert reads_of(stage) == {"BatchGetItem": 1}
    told = said(model.requests[-1])
    assert told[0][1].startswith(
        f"(Of another task, {chart['id']}, which the next message refers to:)\n\nChart it.\n\n"
    )
    assert told[1:5] == [
        ("assistant", "Drawn."),
        ("user", f"(Of another task, {other['id']}, which the next message refers to:)\n\nRome?"),
        ("assistant", "Rain."),
        ("user", "Compare them."),
    ]
    assert told[-1] == ("tool", "chart.svg: 41")
    assert task["history"][0]["referenceTaskIds"] == [chart["id"], other["id"], chart["id"]]


def test_a_reference_within_the_context_is_told_once(play: Any) -> None:
    model = ScriptedModel("Rain.", "Snow.", "Both.")
    stage = play(model)
    first = stage.send("Rome?", contextId="c")
    stage.send("Oslo?", contextId="c")
    stage.send("Both?", contextId="c", referenceTaskIds=[first["id"]])
    assert [text.rsplit("\n", 1)[-1] for _, text in said(model.requests[-1])] == [
        "Oslo?",
        "Snow.",
        "Rome?",
        "Rain.",
        "Both?",
    ]


def test_a_reference_to_another_caller_s_task_reads_like_one_to_nothing(play: Any) -> None:
    model = ScriptedModel("Hers.", "None.")
    stage = play(model)
    hers = stage.send("A secret.")
    refusals = []
    stage.aws_calls.clear()
    for task_id in (hers["id"], "no-such-id", ""):
        with pytest.raises(RpcError) as error:
            stage.send("Tell me.", caller="bob", referenceTaskIds=[task_id], files={"a.csv": b"1"})
        refusals.append((error.value.code, error.value.message.replace(task_id, "")))
    assert len(set(refusals)) == 1
    assert refusals[0][0] == -32602
    assert "no such task" in refusals[0][1]
    assert (stage.write_count, stage.aws_calls["PutObject"], len(model.requests)) == (0, 0, 1)


@pytest.mark.parametrize(("ids", "said"), [(["a"] * 11, "11 ids; 10 are"), (["a" * 257], "257 characters; 256 are")])
def test_references_have_limits(play: Any, ids: list[str], said: str) -> None:
    stage = play(ScriptedModel())
    with pytest.raises(RpcError, match=said) as error:
        stage.send("Hi!", referenceTaskIds=ids)
    assert error.value.code == -32602


def test_a_long_answer_that_is_referred_to_is_cut(play: Any) -> None:
    model = ScriptedModel("x" * 50_000, "y" * 50_000, "So.")
    stage = play(model, max_output_chars=4_000)
    ids = [stage.send(text)["id"] for text in ("One.", "Two.")]
    stage.send("Both.", referenceTaskIds=ids)
    told = [text for _, text in said(model.requests[-1])]
    assert all(text.endswith("are left out here)") for text in (told[1], told[3]))
    assert sum(map(len, told)) < 4_000 + 300


def test_a_follow_up_may_refer_to_tasks_too(play: Any) -> None:
    model = ScriptedModel("Rain.", calls("ask_user", question="Which?"), "So.")
    stage = play(model)
    other = stage.send("Rome?")
    asked = stage.send("Compare!")
    stage.send("With that.", taskId=asked["id"], referenceTaskIds=[other["id"], asked["id"]])
    told = said(model.requests[-1])
    assert [role for role, _ in told] == ["user", "assistant", "tool", "user", "assistant", "user"]
    assert [text.rsplit("\n", 1)[-1] for _, text in told[3:]] == ["Rome?", "Rain.", "With that."]


def test_the_verdict_on_a_call_stays_one_whatever_it_refers_to() -> None:
    @tool(requires_approval=True)
    def send(text: str) -> str:
        """Sends."""
        return "sent"

    model = ScriptedModel("Rain.", calls("send", text="a"), "It is sent.")
    with Stage(Agent(name="clerk", description="A clerk.", tools=[send]), model) as stage:
        other = stage.send("Rome?")
        asked = stage.send("Send it.")
        done = stage.send("yes", taskId=asked["id"], referenceTaskIds=[other["id"]])
    assert status_text(done) == "It is sent."
    assert said(model.requests[-1])[-1] == ("tool", "sent\n(The user approved this call.)")


def test_clients_of_the_old_protocol_have_it_too(play: Any) -> None:
    model = ScriptedModel("Rain.", "Snow.", "Both.")
    stage = play(model)

    def send(text: str, **rest: Any) -> Any:
        parts = [{"kind": "text", "text": text}, {"kind": "data", "data": {"days": 3}}]
        message = {"kind": "message", "role": "user", "messageId": text, "parts": parts, **rest}
        return stage.rpc("message/send", {"message": message})

    first = send("Rome?")
    send("Oslo?", contextId=first["contextId"])
    assert said(model.requests[-1])[0][1] == 'Rome?\n\n{"days": 3}'
    send("Both?", referenceTaskIds=[first["id"]])
    assert len(model.requests[-1].turns) == 3


def test_a_context_of_many_long_talks_is_one_write_all_the_same() -> None:
    """A transaction has a limit, and a memory too."""
    turns: Callable[[ModelRequest], Any] = lambda prompt: (  # noqa: E731
        "So." if prompt.turns[-1].text == "End." else calls("ask_user", question=f"And {len(prompt.turns)}?")
    )
    model = ScriptedModel.from_function(turns)
    with Stage(Agent(name="clerk", description="A clerk."), model, memory_chars=1_000_000) as stage:
        for _ in range(3):
            task = stage.send("Begin.", contextId="c")
            for _ in range(10):
                task = stage.send("More.", taskId=task["id"])
        asked = [stage.send(f"Other {number}.")["id"] for number in range(10)]
        task = stage.send("End.", contextId="c", referenceTaskIds=asked)
    assert task_state(task) == "completed"
    assert 40 + 2 * 10 - 2 <= len(said(model.requests[-1])) <= 40 + 4 * 10 + 1
