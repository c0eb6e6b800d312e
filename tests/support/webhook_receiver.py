"""A webhook receiver on loopback, and an agent whose tasks notify it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agentfn import Agent, Context, File, Output, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import ScriptedModel, Stage


@tool(idempotent=True)
def draw(context: Context) -> Output:
    """Draws."""
    return Output("drawn", files=[File("a.svg", b"<svg/>")])


AGENT = Agent(name="painter", description="Draws.", tools=[draw])


class WebhookReceiver:
    """An HTTP server on loopback. It answers with the next status of `answers`, 200 when there is none."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = outer.answers.pop(0) if outer.answers else 200
                if 200 <= status < 300:
                    outer.bodies.append(body)
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def states(self) -> list[str]:
        updates = [body.get("statusUpdate") or body.get("task") for body in self.bodies]
        return [update["status"]["state"].removeprefix("TASK_STATE_") for update in updates if update]


def push_stage(*script: Any, **settings: Any) -> Stage:
    return Stage(AGENT, ScriptedModel(*script), **{"fetch_loopback": "true", **settings})


def deliver_all(stage: Stage) -> None:
    """Delivers all queued messages, delayed ones included."""
    url = stage.resources.queue_url
    for _ in range(20):
        aws_client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
        backend = _messages(url)
        for message in backend:
            message.delayed_until = 0
        if not stage.drain_queue() and not _messages(url):
            return
    raise AssertionError("the queue is never empty")


def _messages(url: str) -> list[Any]:
    from moto.sqs.models import sqs_backends

    region = url.split(".")[1]
    (account,) = sqs_backends.keys()
    return list(sqs_backends[account][region].get_queue(url.rsplit("/", 1)[-1])._messages)


def send_with_webhook(stage: Stage, url: str, **config: Any) -> Any:
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Draw!"}]}
    configuration = {"returnImmediately": True, "taskPushNotificationConfig": {"url": url, **config}}
    return stage.rpc("SendMessage", {"message": said, "configuration": configuration})["task"]
