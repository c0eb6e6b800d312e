"""REST APIs that pass an answer on while it is made: the emulator collects it, and knows no such integration.

Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from ministack.core import lambda_runtime as runtime
from ministack.core.responses import StreamingResponse
from ministack.services import apigateway_v1 as gateway

WAY = "/response-streaming-invocations"
END_OF_HEAD = b"\0" * 8
ERROR = "lambda-runtime-function-error-type"


class Parts:
    """What a function says to one request, from the thread of its runtime to the gateway's loop; None is the end."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(self, part: bytes | None) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, part)

    async def get(self) -> bytes | None:
        return await self._queue.get()


_wanted: ContextVar[Parts | None] = ContextVar("wanted", default=None)
_awaited: dict[str, Parts] = {}
"""By the request that a runtime answers."""


def put_in() -> None:
    _let_workers_answer_in_parts()
    _pass_them_on()


def _let_workers_answer_in_parts() -> None:
    build, invoke = runtime.ProvidedWorker._build_handler_class, runtime.ProvidedWorker.invoke

    def build_with_streams(self: Any, generation: int, pending: Any) -> Any:
        return _handler(build(self, generation, pending), self, generation)

    def invoke_wanted(self: Any, event: Any, request_id: str, **named: Any) -> Any:
        if parts := _wanted.get():
            _awaited[request_id] = parts
        try:
            return invoke(self, event, request_id, **named)
        finally:
            _awaited.pop(request_id, None)

    runtime.ProvidedWorker._build_handler_class = build_with_streams
    runtime.ProvidedWorker.invoke = invoke_wanted


def _handler(base: Any, worker: Any, generation: int) -> Any:
    class RuntimeApi(base):  # type: ignore[misc]
        def do_POST(self) -> None:
            if self.headers.get("Lambda-Runtime-Function-Response-Mode") != "streaming":
                super().do_POST()
                return
            request_id = self.path.split("/")[-2]
            parts, whole = _awaited.get(request_id), []
            trailers: dict[str, str] = {}
            for part in _chunks(self.rfile, trailers):
                whole.append(part)
                if parts:
                    parts.put(part)
            broken = (
                {"errorType": trailers[ERROR], "errorMessage": "the stream broke off"} if ERROR in trailers else None
            )
            kind, payload = ("error", broken) if broken else ("response", b"".join(whole).decode(errors="replace"))
            taken = worker._record_result(generation, request_id, kind, payload)
            self._respond(202 if taken else 400)

    return RuntimeApi


def _chunks(file: Any, trailers: dict[str, str]) -> Iterator[bytes]:
    while size := int(file.readline().split(b";")[0], 16):
        yield file.read(size)
        file.readline()
    while line := file.readline().decode().strip():
        name, _, value = line.partition(":")
        trailers[name.lower()] = value.strip()


def _pass_them_on() -> None:
    extract, invoke = gateway._extract_lambda_ref_from_integration_uri, gateway._invoke_lambda_proxy_v1

    async def invoke_and_pass_on(integration: dict[str, Any], *arguments: Any, **named: Any) -> Any:
        if not str(integration.get("uri")).endswith(WAY):
            return await invoke(integration, *arguments, **named)
        parts = Parts()
        token = _wanted.set(parts)
        call = asyncio.ensure_future(invoke(integration, *arguments, **named))
        _wanted.reset(token)
        call.add_done_callback(lambda _: parts.put(None))
        return await _begun(parts, call)

    gateway._extract_lambda_ref_from_integration_uri = lambda uri: extract((uri or "").removesuffix(WAY))
    gateway._invoke_lambda_proxy_v1 = invoke_and_pass_on


async def _begun(parts: Parts, call: asyncio.Future[Any]) -> Any:
    """The answer, once its status and headers are there. As on AWS, one without them is no answer."""
    head = b""
    while END_OF_HEAD not in head:
        part = await parts.get()
        if part is None:
            status, headers, body = call.result()
            return (status if status >= 400 else 502), headers, body
        head += part
    told, _, first = head.partition(END_OF_HEAD)
    start = json.loads(told)
    headers = {**start.get("headers", {}), **start.get("multiValueHeaders", {})}
    if start.get("cookies"):
        headers["set-cookie"] = start["cookies"]
    return start["statusCode"], headers, StreamingResponse(_rest(first, parts, call))


def _rest(first: bytes, parts: Parts, call: asyncio.Future[Any]) -> Any:
    async def run(send: Any, _receive: Any) -> None:
        part: bytes | None = first
        while part is not None:
            if part:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            part = await parts.get()
        if call.result()[0] < 500:  # else it broke off, and so does this
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return run
