"""Requests that are refused, in each dialect."""

import json
from typing import Any

from recorder.agents import clerk, plain
from recorder.dialects import METHODS, Dialect
from recorder.events import http_api
from recorder.recording import Recording

HI = {"text": "Hi!"}
UNKNOWN = "00000000-0000-4000-8000-000000000000"
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [HI]}
OLD_MESSAGE = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "Hi!"}]}


def unknown(recording: Recording, dialect: Dialect) -> None:
    """Every method for a task that there is not, and for one of another caller."""
    with recording.stage(clerk(), "Hello.", streaming=True):
        task = dialect.send(recording, "new-1", HI, caller="bob")
        for task_id in (UNKNOWN, task["id"]):
            for what in ("get", "cancel", "push get", "push list", "push delete"):
                dialect.ask(recording, what, task_id, config="one")
            body = dialect.subscriber(task_id, "https://example.com/hook", id="one")
            dialect.ask(recording, "push set", task_id, body=body)
            dialect.send(recording, "follow-1", HI, taskId=task_id)
            dialect.send(recording, "new-2", HI, referenceTaskIds=[task_id])
            dialect.stream(recording, "subscribe", task_id)


def refused(recording: Recording, dialect: Dialect) -> None:
    """Messages that cannot be taken."""
    with recording.stage(clerk(), max_text_chars=100):
        for parts in ([], [{"text": ""}], [{"text": "x" * 101}], [{"raw": "AAEC", "mediaType": "video/mp4"}]):
            dialect.send(recording, "new-1", *parts)
        dialect.send(recording, "", HI)
        dialect.send(recording, "new-" + "x" * 300, HI)
        dialect.send(recording, "new-1", HI, metadata={"skill": "flying"})
        dialect.send(recording, "new-1", HI, metadata={"a": "x" * 70_000})
        dialect.send(recording, "new-1", HI, configuration={"acceptedOutputModes": ["video/mp4"]})
        dialect.send(recording, "new-1", HI, configuration={"historyLength": -1})
        dialect.send(recording, "new-1", HI, role="agent" if dialect.old and not dialect.http else "ROLE_AGENT")
        dialect.send(recording, "new-1", HI, referenceTaskIds=["none"] * 11)
        dialect.stream(recording, "stream", body=dialect.message("new-1", HI))
        dialect.stream(recording, "subscribe", UNKNOWN)
        dialect.ask(recording, "get", UNKNOWN, query={"historyLength": -1})
        dialect.ask(recording, "card", caller="")
    with recording.stage(plain(), push=False):
        body = dialect.subscriber(UNKNOWN, "https://example.com/hook", id="one")
        dialect.ask(recording, "push set", UNKNOWN, body=body)
        dialect.ask(recording, "push list", UNKNOWN)
        dialect.ask(recording, "card")


def doors(recording: Recording, dialect: Dialect) -> None:
    """Callers that are not known, versions that are not spoken, bodies that are too large or no JSON."""
    method, path, body, _ = dialect.request("send", body=dialect.message("new-1", HI))
    with recording.stage(clerk(), max_body_size=2000):
        for headers in ({}, {"Authorization": "Bearer wrong-0123456789abcdef"}, {"Authorization": "Basic YTpi"}):
            recording.request(method, path, body, headers={**dialect.headers, **headers}, caller="")
        for version in ("0.2", "0.3", "0.3.0", "1.0", "1.1", "2.0", "one", ""):
            request = dialect.request("get", UNKNOWN)[:3]
            recording.request(*request, headers={**dialect.headers, "A2A-Version": version})
            recording.request(*request, query=f"A2A-Version={version}", headers={"Content-Type": "application/json"})
        for text in ("x" * 2001, "", "{", "[]", "null", '"text"', "7", '{"a":1,"a":2}', '{"a":NaN}', '{"a":1e999}'):
            recording.request(method, path, text, headers=dialect.headers)
        recording.request(method, path, b"\xff\xfe{", headers=dialect.headers)
        recording.request(method, path, json.dumps(body), headers={**dialect.headers, "Content-Type": "text/plain"})
        recording.request(method, path, body, headers={**dialect.headers, "X-Long": "x" * 20_000})
        recording.request(method, path, body, headers=dialect.headers, event=http_api, caller="bob")
        for other in ("GET", "PUT", "DELETE", "OPTIONS", "HEAD"):
            recording.request(other, path, headers=dialect.headers)
        recording.request("GET", "/nothing/here", headers=dialect.headers)


def envelopes(recording: Recording, old: bool) -> None:
    """JSON-RPC's envelope, and parameters of the wrong kind for every method."""
    message: Any = OLD_MESSAGE if old else MESSAGE
    send = METHODS["send"][old]
    bad_messages: list[Any] = [
        {},
        {**message, "parts": None},
        {**message, "parts": [{}]},
        {**message, "role": "boss"},
        {**message, "parts": "Hi!"},
        {**message, "messageId": 7},
        {**message, "unknown": True},
    ]
    with recording.stage(clerk(), "Hello.", streaming=True):

        def rpc(body: Any) -> None:
            recording.request("POST", "/", body, headers={} if old else {"A2A-Version": "1.0"})

        numbers: list[Any] = [None, "text", 7, 1.5, True, [], {}]
        for number in numbers:
            rpc({"jsonrpc": "2.0", "id": number, "method": METHODS["get"][old], "params": {"id": UNKNOWN}})
        rpc({"jsonrpc": "2.0", "method": METHODS["get"][old], "params": {"id": UNKNOWN}})
        rpc({"jsonrpc": "1.0", "id": 1, "method": METHODS["get"][old], "params": {"id": UNKNOWN}})
        rpc({"id": 1, "method": METHODS["get"][old]})
        rpc({"jsonrpc": "2.0", "id": 1, "method": "tasks/fly", "params": {}})
        rpc({"jsonrpc": "2.0", "id": 1, "method": METHODS["get"][not old], "params": {"id": UNKNOWN}})
        for names in METHODS.values():
            for params in (None, [1], {}, {"id": 7, "taskId": 7}):
                rpc({"jsonrpc": "2.0", "id": 1, "method": names[old], "params": params})
        for bad in bad_messages:
            rpc({"jsonrpc": "2.0", "id": 1, "method": send, "params": {"message": bad}})
        rpc({"jsonrpc": "2.0", "id": 1, "method": send, "params": {"message": message, "configuration": 7}})


ERROR_STORIES = {"unknown": unknown, "refused": refused, "doors": doors}
