"""The four ways to speak the protocol: versions 1.0 and 0.3, over JSON-RPC and over HTTP+JSON."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recorder.recording import Recording

METHODS = {
    "send": ("SendMessage", "message/send"),
    "stream": ("SendStreamingMessage", "message/stream"),
    "get": ("GetTask", "tasks/get"),
    "list": ("ListTasks", "tasks/list"),
    "cancel": ("CancelTask", "tasks/cancel"),
    "subscribe": ("SubscribeToTask", "tasks/resubscribe"),
    "push set": ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"),
    "push get": ("GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get"),
    "push list": ("ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list"),
    "push delete": ("DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete"),
    "card": ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"),
}
PATHS = {
    "send": "POST /message:send",
    "stream": "POST /message:stream",
    "get": "GET /tasks/{id}",
    "list": "GET /tasks",
    "cancel": "POST /tasks/{id}:cancel",
    "subscribe": "GET /tasks/{id}:subscribe",
    "push set": "POST /tasks/{id}/pushNotificationConfigs",
    "push get": "GET /tasks/{id}/pushNotificationConfigs/{config}",
    "push list": "GET /tasks/{id}/pushNotificationConfigs",
    "push delete": "DELETE /tasks/{id}/pushNotificationConfigs/{config}",
    "card": "GET /extendedAgentCard",
}
OLD_FILES = {False: {"raw": "bytes", "url": "uri"}, True: {"raw": "fileWithBytes", "url": "fileWithUri"}}


@dataclass(frozen=True)
class Dialect:
    old: bool
    http: bool

    @property
    def name(self) -> str:
        return f"{'0.3' if self.old else '1.0'}-{'http' if self.http else 'rpc'}"

    def send(self, recording: Recording, message_id: str, *parts: Mapping[str, Any], **rest: Any) -> Any:
        """Parts in the words of 1.0. `rest` are `configuration`, `headers`, `caller` and more members of the message.
        Returns the answer's task, message or error.
        """
        passed = {name: rest.pop(name) for name in ("headers", "caller") if name in rest}
        return self.ask(recording, "send", body=self.message(message_id, *parts, **rest), **passed)

    def ask(self, recording: Recording, what: str, task_id: str = "", **rest: Any) -> Any:
        """What the answer says, out of its envelope. `config` is the id of a push configuration."""
        method, path, body, query = self.request(what, task_id, **rest)
        passed = {name: rest[name] for name in ("caller",) if name in rest}
        headers = {**self.headers, **rest.get("headers", {})}
        answer = recording.request(method, path, body, query=query, headers=headers, **passed)
        return self.inner(answer["body"])

    def stream(self, recording: Recording, what: str, task_id: str = "", **rest: Any) -> str:
        seconds = rest.pop("seconds", 60.0)
        method, path, body, _ = self.request(what, task_id, **rest)
        return recording.stream(method, path, body, headers=self.headers, seconds=seconds)

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", **({} if self.old else {"A2A-Version": "1.0"})}

    def request(self, what: str, task_id: str = "", **rest: Any) -> tuple[str, str, Any, str]:
        """Method, path, body and query."""
        config, body, query = rest.get("config", ""), rest.get("body"), rest.get("query", {})
        if not self.http:
            params = body if body is not None else {**self._params(what, task_id, config), **query}
            return "POST", "/", {"jsonrpc": "2.0", "id": 1, "method": METHODS[what][self.old], "params": params}, ""
        method, path = PATHS[what].split(" ")
        path = "/card" if self.old and what == "card" else path
        path = ("/v1" if self.old else "") + path.format(id=task_id, config=config)
        return method, path, body, "&".join(f"{name}={value}" for name, value in query.items())

    def message(self, message_id: str, *parts: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
        configuration = dict(rest.pop("configuration", {}))
        said = {"messageId": message_id, "role": "ROLE_USER", **rest}
        if self.old and not self.http:
            said |= {"kind": "message", "role": "user"}
        if self.old and "returnImmediately" in configuration:
            configuration["blocking"] = not configuration.pop("returnImmediately")
        said["content" if self.old and self.http else "parts"] = [self._part(part) for part in parts]
        return {"message": said, **({"configuration": configuration} if configuration else {})}

    def subscriber(self, task_id: str, url: str, **config: Any) -> dict[str, Any]:
        """The body that sets a push configuration."""
        if not self.old:
            return {"taskId": task_id, "url": url, **config}
        inner = {"pushNotificationConfig": {"url": url, **config}}
        return {"parent": f"tasks/{task_id}", "config": inner} if self.http else {"taskId": task_id, **inner}

    def inner(self, text: str) -> Any:
        import json

        told = json.loads(text) if text else {}
        told = told.get("result", told) if "jsonrpc" in told else told
        return told.get("task", told) if isinstance(told, dict) else told

    def _params(self, what: str, task_id: str, config: str) -> dict[str, Any]:
        if what in ("push get", "push delete"):
            if self.old:
                return {"id": task_id, **({"pushNotificationConfigId": config} if config else {})}
            return {"taskId": task_id, "id": config}
        if what == "push list" and not self.old:
            return {"taskId": task_id}
        return {"id": task_id} if task_id else {}

    def _part(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.old:
            return part
        [kind] = set(part) & {"text", "data", "raw", "url"}
        if kind in ("text", "data"):
            if self.http:
                return part if kind == "text" else {"data": {"data": part["data"]}}
            return {"kind": kind, **part}
        name, value = OLD_FILES[self.http][kind], part[kind]
        if name == "fileWithBytes":  # base64 of base64: so the sdk's clients of 0.3 write it
            value = base64.b64encode(value.encode()).decode()
        file = {name: value, "name": part.get("filename", ""), "mimeType": part.get("mediaType", "")}
        return {"file": file} if self.http else {"kind": "file", "file": file}


DIALECTS = [Dialect(old, http) for old in (False, True) for http in (False, True)]
