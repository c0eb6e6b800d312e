"""Models behind OpenAI's chat completions, OpenAI's own and everybody's who speaks like them, by the official client.

Only the client's core is used: its typed methods take as much CPU to import as all the rest.
Source: https://platform.openai.com/docs/api-reference/chat
"""

import gc
import importlib
import json
from functools import cache
from typing import Any

from agentfn.errors import ModelRequestRejected
from agentfn.models import profiles
from agentfn.models.error_mapping import REMEDIES, Complaint
from agentfn.models.messages import Call, Reply
from agentfn.models.model import Prompt
from agentfn.models.openai_format import finish, messages
from agentfn.models.optional_params import Request, options
from agentfn.models.prices import Count, Known
from agentfn.models.providers.http_client import http, kept
from agentfn.models.providers.http_model import Answer, DirectModel, Errors, Ready
from agentfn.models.stream_accumulator import Assembly

OURS = ("model", "api_key")


class _Listener:
    """Server-sent events. Source: https://platform.openai.com/docs/api-reference/chat-streaming"""

    def __init__(self) -> None:
        self.over = False
        self._assembly = Assembly()
        self._begun = b""
        self._reason: str | None = None
        self._count = Count()

    def hear(self, piece: bytes) -> list[str]:
        *lines, self._begun = (self._begun + piece).split(b"\n")
        return [text for line in lines if line.startswith(b"data:") and (text := self._data(line[5:].strip()))]

    def answer(self) -> Answer | None:
        whole = self.over or self._reason
        return (self._assembly.reply(self._reason), self._count) if whole else None

    def _data(self, data: bytes) -> str:
        if data == b"[DONE]":
            self.over = True
            return ""
        chunk = json.loads(data)
        if error := chunk.get("error"):
            raise _complaint(error)
        self._count = _count(chunk.get("usage")) or self._count
        choice = (chunk.get("choices") or [{}])[0]
        self._reason = choice.get("finish_reason") or self._reason
        delta = choice.get("delta") or {}
        for piece in delta.get("tool_calls") or ():
            function = piece.get("function") or {}
            name, arguments = function.get("name") or "", _arguments(function.get("arguments"))
            self._assembly.call(piece.get("index") or 0, piece.get("id") or "", name, arguments)
        return self._assembly.text(_text(delta.get("content")))


class OpenAIModel(DirectModel):
    """`name` is the model's, with or without `openai/` before it; `base` another server's address, up to `/v1`.

    Without a key of its own it takes that of OPENAI_API_KEY, as the official client does.
    """

    listener = _Listener
    variable = "OPENAI_API_KEY"

    def _sender(self, key: str | None) -> Any:
        if not key:
            raise ModelRequestRejected(f"{self.name} was not asked, for want of a key: {REMEDIES[401]}")
        return load()

    def _request(self, prompt: Prompt, known: Known) -> Request:
        spoken = [
            {part: value for part, value in message.items() if part != "name"}
            for message in messages(prompt, signed_ids=False)
        ]
        return {"messages": spoken, **options(prompt, shaped=profiles.follows_schema(known))}

    async def _send(self, ready: Ready, request: Request, *, streamed: bool) -> Any:
        openai, key = ready.sender, ready.key

        def make() -> Any:
            return openai.AsyncOpenAI(api_key=key, base_url=self._base, max_retries=0, http_client=http())

        client = kept(("openai", key, self._base), make)
        told = {option: value for option, value in request.items() if option not in OURS}
        body = {"model": self.name.removeprefix("openai/"), **told}
        if not streamed:
            import httpx

            return await client.post("/chat/completions", cast_to=httpx.Response, body=body)
        kind = openai.AsyncStream[object]
        stream = await client.post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=kind)
        return stream.response

    def _errors(self) -> Errors:
        import httpx

        return load().OpenAIError, httpx.HTTPError, Complaint

    def _read(self, shape: Any) -> Answer | None:
        if not shape.get("choices"):
            return None
        choice = shape["choices"][0]
        message = choice["message"]
        calls = tuple(
            Call(call.get("id") or "", call["function"]["name"] or "", _arguments(call["function"].get("arguments")))
            for call in message.get("tool_calls") or ()
        )
        reply = Reply(_text(message.get("content")), calls, finish=finish(choice.get("finish_reason"), calls))
        return reply, _count(shape.get("usage")) or Count()


@cache
def load() -> Any:
    """The official client, imported once, without waking the garbage collector half-way."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module("openai")
    finally:
        if collecting:
            gc.enable()


def _complaint(error: Any) -> Complaint:
    """One that comes in the middle of a stream has no status."""
    if not isinstance(error, dict):
        return Complaint("error", None, str(error))
    kind = error.get("code") or error.get("type") or "error"
    return Complaint(str(kind), None, f"{error.get('type')} {error.get('message')}")


def _text(content: Any) -> str:
    """Some servers give parts, of which one may be a thought."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    return str(content or "")


def _arguments(arguments: Any) -> str:
    """Some servers give the object itself."""
    return arguments or "" if isinstance(arguments, str | None) else json.dumps(arguments, ensure_ascii=False)


def _count(usage: Any) -> Count | None:
    if not usage:
        return None
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return Count(usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0, cached)
