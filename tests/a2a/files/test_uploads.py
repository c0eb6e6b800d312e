"""Files that are too large for a request: sent past the function, and named in a message."""

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import requests

from agentfn import Agent, Context, InputFile, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import RpcError, ScriptedModel, Stage, calls
from conftest import task_state


@tool(idempotent=True)
def weigh(file: InputFile) -> str:
    """Tells what a file is."""
    return f"{file.name} {file.stat().st_size} {hashlib.sha256(file.read_bytes()).hexdigest()}"


@tool(idempotent=True)
def names(context: Context) -> str:
    """Tells what files there are."""
    return ", ".join(str(info) for info in context.files)


WEIGHER = Agent(name="weigher", description="Weighs files.", tools=[weigh, names])


def offered(stage: Stage, *, caller: str = "alice", **wanted: Any) -> dict[str, Any]:
    answer = ask(stage, json.dumps(wanted), caller=caller)
    assert answer["statusCode"] == 201
    assert answer["headers"]["cache-control"] == "no-store"
    offer: dict[str, Any] = json.loads(answer["body"])
    return offer


def ask(stage: Stage, body: str, *, caller: str | None = "alice") -> dict[str, Any]:
    return stage.request("POST", "/uploads", caller=caller, body=body, headers={"Content-Type": "application/json"})


def post(offer: dict[str, Any], content: bytes) -> None:
    answer = requests.post(offer["url"], data=offer["fields"], files={"file": ("x", content)}, timeout=20)
    assert answer.status_code == 204, answer.text


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messageId": os.urandom(4).hex(), "role": "ROLE_USER", "parts": list(parts)}


def result(model: ScriptedModel) -> str:
    return str(model.requests[-1].turns[-1].text)


def objects(stage: Stage) -> list[str]:
    found = aws_client("s3").list_objects_v2(Bucket=stage.resources.bucket).get("Contents", [])
    return [one["Key"] for one in found]


def test_an_upload_reaches_the_tool_without_passing_the_function() -> None:
    content = os.urandom(20_000_000)
    model = ScriptedModel(calls("weigh", file="größe.bin"), "Weighed.")
    with Stage(WEIGHER, model) as stage:
        offer = offered(stage, name="größe.bin", mediaType="application/x-weights", size=len(content))
        assert offer["maxSize"] == len(content)
        post(offer, content)
        stage.aws_calls.clear()
        task = stage.send("Weigh!", parts=[{"text": "Weigh!"}, offer["part"]])
        assert result(model) == f"größe.bin 20000000 {hashlib.sha256(content).hexdigest()}"
        assert "- größe.bin (application/x-weights, 20,000,000 bytes)" in model.requests[0].turns[0].text
        assert (stage.aws_calls["CopyObject"], stage.aws_calls["PutObject"]) == (1, 0)
        [_, part] = task["history"][0]["parts"]
        answer = requests.get(part["url"], timeout=20)
        assert answer.content == content
        assert answer.headers["Content-Type"] == "application/x-weights"
        assert answer.headers["Content-Disposition"] == (
            "attachment; filename=\"groe.bin\"; filename*=UTF-8''gr%C3%B6%C3%9Fe.bin"
        )
        assert not [name for name in answer.headers if name.lower().startswith("x-amz-meta")]


def test_the_form_binds_key_type_size_and_time() -> None:
    with Stage(WEIGHER, ScriptedModel()) as stage:
        offer = offered(stage, name="a.csv", size=1_000)
    policy = json.loads(base64.b64decode(offer["fields"]["policy"]))
    key = f"_uploads/weigher/alice/{offer['id']}"
    assert {"key": key} in policy["conditions"]
    assert {"Content-Type": "text/csv"} in policy["conditions"]
    assert ["content-length-range", 1, 1_000] in policy["conditions"]
    assert policy["expiration"] == offer["expires"]
    bound = {name for condition in policy["conditions"] if isinstance(condition, dict) for name in condition}
    assert set(offer["fields"]) - bound == {"policy", "x-amz-signature"}, "S3 takes no field that is not bound"
    assert offer["part"] == {"url": f"upload:{offer['id']}", "filename": "a.csv", "mediaType": "text/csv"}


@pytest.mark.parametrize("dialect", ["0.3", "1.0"])
def test_the_part_s_name_and_type_go_before_those_of_the_upload(dialect: str) -> None:
    model = ScriptedModel(calls("names"), "Two.")
    with Stage(WEIGHER, model) as stage:
        offer = offered(stage, name="../of/upload.csv", mediaType="text/csv")
        post(offer, b"a,b")
        address = offer["part"]["url"]
        if dialect == "1.0":
            parts: list[Any] = [{"url": address}, {"url": address, "filename": "../x.txt", "mediaType": "text/plain"}]
            stage.rpc("SendMessage", {"message": said(*parts)})
        else:
            files = [{"uri": address}, {"uri": address, "name": "../x.txt", "mimeType": "text/plain"}]
            message = {"kind": "message", "messageId": "m", "role": "user"}
            stage.rpc("message/send", {"message": {**message, "parts": [{"kind": "file", "file": f} for f in files]}})
    assert result(model) == "upload.csv (text/csv, 3 bytes), x.txt (text/plain, 3 bytes)"


def test_a_message_that_comes_again_is_the_same_task_even_if_its_upload_has_expired() -> None:
    with Stage(WEIGHER, ScriptedModel("Once.", "Twice?")) as stage:
        offer = offered(stage, name="a.csv")
        post(offer, b"a,b")
        message = said(offer["part"])
        first = stage.rpc("SendMessage", {"message": message})["task"]
        assert stage.rpc("SendMessage", {"message": message})["task"]["id"] == first["id"]
        aws_client("s3").delete_object(Bucket=stage.resources.bucket, Key=offer["fields"]["key"])
        assert stage.rpc("SendMessage", {"message": message})["task"]["id"] == first["id"]


def test_a_follow_up_may_bring_an_upload() -> None:
    model = ScriptedModel(calls("ask_user", question="Where is it?"), calls("weigh", file="a (2).csv"), "Weighed.")
    with Stage(WEIGHER, model) as stage:
        asking = stage.send("Weigh!", files={"a.csv": b"old"})
        offer = offered(stage, name="a.csv")
        post(offer, b"new one")
        stage.send(taskId=asking["id"], parts=[offer["part"]])
    assert result(model).startswith("a (2).csv 7 ")


def refusal(stage: Stage, *parts: dict[str, Any], caller: str = "alice") -> str:
    """What a message is refused with; nothing comes of it."""
    before = objects(stage)
    with pytest.raises(RpcError) as refused:
        stage.rpc("SendMessage", {"message": said(*parts)}, caller=caller)
    assert refused.value.code == -32602
    assert (stage.table_items(), stage.receive_messages(), objects(stage)) == ([], [], before)
    return str(refused.value.message)


def test_what_was_not_sent_is_no_upload_and_another_caller_s_neither() -> None:
    with Stage(WEIGHER, ScriptedModel()) as stage:
        offer = offered(stage, name="a.csv")
        never = refusal(stage, {"text": "Weigh!"}, offer["part"])
        post(offer, b"a,b")
        missing = "part 2: there is no such upload: nothing was sent to it, or it has expired. Ask for another"
        assert never.startswith(missing)
        assert refusal(stage, {"text": "Weigh!"}, offer["part"], caller="bob") == never
        for address in (
            "upload:",
            "upload:0",
            f"upload:{'0' * 32}",
            f"upload:../bob/{offer['id']}",
            f"UPLOAD:{offer['id']}/",
            f"upload:{offer['id'].upper()}\n",
        ):
            assert refusal(stage, {"text": "Weigh!"}, {"url": address}) == never


def test_uploads_have_a_limit_of_their_own_that_no_form_gets_around() -> None:
    model = ScriptedModel("Both.")
    with Stage(WEIGHER, model, max_file_size=10, max_files_size=12, max_upload_size=100, max_files=3) as stage:
        good, large, empty = (offered(stage, name=f"{name}.bin") for name in ("good", "large", "empty"))
        assert large["maxSize"] == 100
        post(good, bytes(100))
        post(large, bytes(101))  # S3 itself refuses this one and the next; moto reads no policy
        post(empty, b"")
        raw = {"raw": "YWJjZGVmZ2hpag==", "filename": "ten.txt"}
        assert refusal(stage, large["part"]) == "part 1: large.bin has 101 bytes; 100 are allowed"
        assert refusal(stage, empty["part"]) == "part 1: the file empty.bin is empty"
        assert refusal(stage, *[good["part"]] * 4) == "the message has 4 files; 3 are allowed"
        assert "ten.txt has 10 bytes; 2 are allowed" in refusal(stage, good["part"], raw, raw)
        assert task_state(stage.send(parts=[good["part"], raw])) == "completed"


def test_an_upload_that_goes_while_it_is_taken_over_is_no_broken_task() -> None:
    with Stage(WEIGHER, ScriptedModel()) as stage:
        offer = offered(stage, name="a.csv")
        post(offer, b"a,b")
        s3 = aws_client("s3")

        def expire(**_: Any) -> None:
            s3.delete_object(Bucket=stage.resources.bucket, Key=offer["fields"]["key"])

        s3.meta.events.register("before-call.s3.CopyObject", expire)
        with pytest.raises(RpcError, match=r"a file of the message is gone: .* upload it again") as refused:
            stage.send(parts=[offer["part"]])
        assert refused.value.code == -32602
        assert (stage.table_items(), stage.receive_messages()) == ([], [])


WISHES = [
    ("no JSON", "{", 400, None, "the body must be a JSON object"),
    ("a list", "[]", 400, None, "the body must be a JSON object"),
    ("nothing", "", 400, None, "the body must be a JSON object"),
    ("deep", "[" * 100_000, 400, None, "the body must be a JSON object"),
    ("no name", "{}", 400, "name", "must be a text"),
    ("blank name", '{"name": " "}', 400, "name", "must be a text"),
    ("a number for a name", '{"name": 7}', 400, "name", "must be a text"),
    ("no media type", '{"name": "a", "mediaType": "text"}', 400, "mediaType", "must be a media type"),
    ("two headers", '{"name": "a", "mediaType": "text/csv\\r\\nA: b"}', 400, "mediaType", "must be a media type"),
    ("a long type", json.dumps({"name": "a", "mediaType": f"text/{'x' * 200}"}), 400, "mediaType", "must be a"),
    ("a type that is none", '{"name": "a", "mediaType": 0}', 400, "mediaType", "must be a media type"),
    ("no bytes", '{"name": "a", "size": 0}', 400, "size", "must be a whole number"),
    ("half a byte", '{"name": "a", "size": 1.5}', 400, "size", "must be a whole number"),
    ("a yes", '{"name": "a", "size": true}', 400, "size", "must be a whole number"),
    ("not a number", '{"name": "a", "size": NaN}', 400, "size", "must be a whole number"),
    ("too many bytes", '{"name": "a", "size": 101}', 413, "size", "101 bytes; 100 are allowed"),
]


@pytest.mark.parametrize(("body", "status", "field", "text"), [w[1:] for w in WISHES], ids=[w[0] for w in WISHES])
def test_a_wish_that_cannot_be_met_is_answered_with_the_field(
    body: str, status: int, field: str | None, text: str
) -> None:
    with Stage(WEIGHER, ScriptedModel(), max_upload_size=100) as stage:
        answer = ask(stage, body)
    told = json.loads(answer["body"])
    assert (answer["statusCode"], told.get("field")) == (status, field)
    assert told["error"].startswith(f"{field}: {text}" if field else text)


@pytest.mark.parametrize(
    "name", ['../../other/x"\r\nA: b.pdf', "..", "漢" * 200 + ".pdf", "a\0b", "\ud83d", "%2e%2e/é"]
)
def test_no_name_decides_where_an_upload_lies(name: str) -> None:
    model = ScriptedModel(calls("names"), "One.")
    with Stage(WEIGHER, model) as stage:
        offer = offered(stage, name=name)
        assert offer["fields"]["key"] == f"_uploads/weigher/alice/{offer['id']}"
        assert all(str(value).isascii() and str(value).isprintable() for value in offer["fields"].values())
        post(offer, b"x")
        stage.send(parts=[{"url": offer["part"]["url"]}])
        assert result(model).startswith(f"{offer['part']['filename']} (")
        assert all(key.startswith(("_uploads/weigher/alice/", "weigher/alice/")) for key in objects(stage))


def test_nobody_uploads_without_a_token() -> None:
    with Stage(WEIGHER, ScriptedModel()) as stage:
        assert ask(stage, '{"name": "a"}', caller=None)["statusCode"] == 401


def test_a_short_life_of_links_is_a_form_s_too() -> None:
    with Stage(WEIGHER, ScriptedModel(), link_seconds=60) as stage:
        offer = offered(stage, name="a.csv")
    began = offer["fields"]["x-amz-date"]
    assert began[:8] == offer["expires"][:10].replace("-", "")
    minutes = int(offer["expires"][14:16]) - int(began[11:13])
    assert minutes % 60 == 1


def test_two_tasks_in_a_row_leave_each_other_nothing() -> None:
    """In one process, as a warm function has them: no file, no name, no folder."""
    folders: list[Path] = []

    @tool(idempotent=True)
    def look(context: Context) -> str:
        """Looks around, and leaves something lying about."""
        folders.append(context.folder.parent)
        seen = [str(path) for path in context.folder.iterdir()]
        (context.folder / "left.txt").write_text("mine")
        return json.dumps([seen, [info.name for info in context.files]])

    model = ScriptedModel(
        calls("weigh", file="first.bin"), calls("look"), "One.", calls("look"), calls("weigh", file="first.bin"), "Two."
    )
    with Stage(Agent(name="weigher", description="Weighs.", tools=[weigh, look]), model) as stage:
        offer = offered(stage, name="first.bin")
        post(offer, bytes(9_000_000))
        stage.send(parts=[offer["part"]])
        assert json.loads(model.requests[2].turns[-1].text) == [[], ["first.bin"]]
        assert not folders[0].exists()
        stage.send("And now?")
    assert json.loads(model.requests[4].turns[-1].text) == [[], []]
    assert "there is no file 'first.bin'; there are: none" in model.requests[5].turns[-1].text
    assert folders[0] != folders[1]
    assert not any(folder.exists() for folder in folders)
