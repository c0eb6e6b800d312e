"""A2A clients for both protocol versions and both bindings, with raw requests and responses."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from a2a.utils.errors import A2A_ERROR_REASONS, JSON_RPC_ERROR_CODE_MAP

from agentfn.testing import LocalLambdaContext, Stage, rest_event
from agentfn.testing.stage import auth_headers

REASONS = {code: A2A_ERROR_REASONS.get(kind, "PARSE_ERROR") for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}
RPC_METHODS = {
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
REST_PATHS = {
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


@dataclass(frozen=True)
class ProtocolResponse:
    """A response. `error` is the protocol's name of the error, such as TASK_NOT_FOUND, in any form."""

    status: int
    content_type: str
    text: str

    @property
    def events(self) -> list[Any]:
        if not self.content_type.startswith("text/event-stream"):
            return [json.loads(self.text)]
        return [json.loads(line[6:]) for line in self.text.split("\n") if line.startswith("data: ")]

    @property
    def result(self) -> Any:
        """The result without its JSON-RPC envelope."""
        [event] = self.events
        return event["result"] if "jsonrpc" in event else event

    @property
    def error(self) -> str:
        found = self.events[0].get("error", {})
        if "jsonrpc" in self.events[0]:
            assert self.status == 200
            return REASONS[found["code"]] if found else ""
        assert self.status == found.get("code", 200)
        return found["details"][0]["reason"] if found else ""

    @property
    def message(self) -> str:
        return str(self.events[0]["error"]["message"])


@dataclass(frozen=True)
class ProtocolClient:
    v0_3: bool
    rest: bool

    def __str__(self) -> str:
        return f"{'0.3' if self.v0_3 else '1.0'} {'HTTP+JSON' if self.rest else 'JSON-RPC'}"

    def post(self, stage: Stage, path: str, body: str | None, *, method: str = "POST", **rest: Any) -> ProtocolResponse:
        """Posts the body unchanged. `version` and `caller` override the defaults."""
        version = rest.pop("version", "" if self.v0_3 else "1.0")
        headers = {"Content-Type": "application/json", **({"A2A-Version": version} if version else {})}
        headers |= rest.pop("headers", {})
        answer = stage.request(
            method, path, caller=rest.pop("caller", "alice"), body=body, headers=headers, query=rest.pop("query", "")
        )
        return ProtocolResponse(answer["statusCode"], answer["headers"].get("content-type", ""), answer["body"])

    def send(self, stage: Stage, *parts: Mapping[str, Any], **rest: Any) -> ProtocolResponse:
        """Sends a message with parts in the form of 1.0; `rest` has further members, or `configuration`."""
        passed = {name: rest.pop(name) for name in ("version", "caller", "headers") if name in rest}
        return self._said("send", stage, self.request(*parts, **rest), **passed)

    def call(self, stage: Stage, what: str, task_id: str = "", **rest: Any) -> ProtocolResponse:
        """Calls any other method. `config` is the id of a push configuration, `query` the query string."""
        passed = {name: rest.pop(name) for name in ("version", "caller", "headers", "query") if name in rest}
        config, body = rest.pop("config", ""), rest.pop("body", {})
        if not self.rest:
            return self._said(what, stage, self._params(what, task_id, config) | body | rest, **passed)
        method, path = REST_PATHS[what].split(" ")
        path = ("/v1" if self.v0_3 else "") + path.format(id=task_id, config=config)
        path = "/v1/card" if self.v0_3 and what == "card" else path
        sent = json.dumps(body) if body else None
        return self.post(stage, path, sent, method=method, **passed)

    def stream(self, stage: Stage, what: str, params: Any, task_id: str = "", seconds: float = 60) -> ProtocolResponse:
        """Calls a method through the streaming handler."""
        headers = auth_headers("alice") | ({} if self.v0_3 else {"A2A-Version": "1.0"})
        if self.rest:
            method, path = REST_PATHS[what].split(" ")
            path = ("/v1" if self.v0_3 else "") + path.format(id=task_id)
            event = rest_event(method, path, json.dumps(params) if params else None, headers)
        else:
            event = rest_event("POST", "/", self.rpc(what, params or {"id": task_id}), headers)
        parts: list[Any] = []
        stage.handler.stream(event, LocalLambdaContext(seconds), parts.append)
        kind = next(value.decode() for name, value in parts[0]["headers"] if name == b"content-type")
        return ProtocolResponse(
            parts[0]["status"], kind, b"".join(part.get("body", b"") for part in parts[1:]).decode()
        )

    def rpc(self, what: str, params: Any) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": RPC_METHODS[what][self.v0_3], "params": params})

    def request(self, *parts: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
        """The parameters of a message with its configuration."""
        configuration = dict(rest.pop("configuration", {}))
        said = {"messageId": str(uuid4()), "role": "ROLE_USER", **rest}
        if self.v0_3 and not self.rest:
            said |= {"kind": "message", "role": "user"}
        if self.v0_3:
            configuration["blocking"] = not configuration.pop("returnImmediately", False)
        said["content" if self.v0_3 and self.rest else "parts"] = [self._part(part) for part in parts]
        return {"message": said, "configuration": configuration}

    def push_config(self, task_id: str, url: str, config: str) -> dict[str, Any]:
        """The parameters that set a push configuration."""
        if not self.v0_3:
            return {"taskId": task_id, "url": url, "id": config}
        inner = {"pushNotificationConfig": {"url": url, "id": config}}
        return {"parent": f"tasks/{task_id}", "config": inner} if self.rest else {"taskId": task_id, **inner}

    def task(self, reply: ProtocolResponse) -> Any:
        said = reply.result
        return said.get("task", said)

    def state(self, task: Any) -> str:
        said = str(task["status"]["state"]).removeprefix("TASK_STATE_").replace("-", "_").lower()
        return "canceled" if said == "cancelled" else said  # 0.3 spells it so over HTTP

    def data(self, message: Any) -> Any:
        """The data of the first part of a message or artifact."""
        part = message.get("parts", message.get("content"))[0]
        return part["data"]["data"] if self.v0_3 and self.rest else part["data"]

    def _said(self, what: str, stage: Stage, params: Any, **passed: Any) -> ProtocolResponse:
        if self.rest:
            path = ("/v1" if self.v0_3 else "") + REST_PATHS[what].split(" ")[1]
            return self.post(stage, path, json.dumps(params), **passed)
        return self.post(stage, "/", self.rpc(what, params), **passed)

    def _params(self, what: str, task_id: str, config: str) -> dict[str, Any]:
        if what in ("push get", "push delete"):
            if self.v0_3:
                return {"id": task_id, **({"pushNotificationConfigId": config} if config else {})}
            return {"taskId": task_id, "id": config}
        if what == "push list" and not self.v0_3:
            return {"taskId": task_id}
        return {"id": task_id} if task_id else {}

    def _part(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.v0_3:
            return part
        [kind] = set(part) & {"text", "data", "raw", "url"}
        if kind in ("text", "data"):
            if self.rest:
                return part if kind == "text" else {"data": {"data": part["data"]}}
            return {"kind": kind, **part}
        name, value = V0_3_FILE_FIELDS[self.rest][kind], part[kind]
        if name == "fileWithBytes":  # base64 of base64: so the sdk's clients of 0.3 write it
            value = base64.b64encode(value.encode()).decode()
        file = {name: value, "name": part.get("filename", ""), "mimeType": part.get("mediaType", "")}
        return {"file": file} if self.rest else {"kind": "file", "file": file}


V0_3_FILE_FIELDS = {False: {"raw": "bytes", "url": "uri"}, True: {"raw": "fileWithBytes", "url": "fileWithUri"}}
CLIENTS = [ProtocolClient(old, http) for old in (False, True) for http in (False, True)]
V1_CLIENTS, V0_3_CLIENTS = CLIENTS[:2], CLIENTS[2:]
