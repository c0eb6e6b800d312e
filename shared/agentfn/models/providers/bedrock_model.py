"""Models behind Amazon Bedrock's Converse.

botocore knows the credentials, signs, and takes event streams apart; the sending is httpx's. botocore's own transport
blocks a thread for as long as a model is silent: nobody can hang up for it, its stream's `close` waits for the reader,
and its read timeout belongs to a client, not to a call.
"""

import importlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.models import profiles
from agentfn.models.error_mapping import REMEDIES, Complaint
from agentfn.models.model import Prompt
from agentfn.models.openai_format import messages
from agentfn.models.optional_params import Request, options
from agentfn.models.prices import Count, Known
from agentfn.models.providers import bedrock_converse
from agentfn.models.providers.http_client import http
from agentfn.models.providers.http_model import Answer, DirectModel, Errors, Ready
from agentfn.models.registry import on_bedrock
from agentfn.models.stream_accumulator import Assembly

# A stream's errors have no status of their own.
STATUS = {
    "internalserverexception": 500,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}


@cache
def load() -> None:
    """What a question needs of botocore."""
    for name in ("botocore.session", "botocore.auth", "botocore.eventstream"):
        importlib.import_module(name)


@cache
def session_of_the_process() -> Any:
    from botocore.session import Session

    return Session()


@dataclass(frozen=True)
class _Sender:
    """Where to, and what a request is signed with: an API key of Bedrock's, else the role's credentials."""

    endpoint: str
    region: str
    token: str | None
    credentials: Any

    def headers(self, url: str, content: bytes) -> dict[str, str]:
        plain = {"content-type": "application/json"}
        if self.token:
            return {**plain, "authorization": f"Bearer {self.token}"}
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest("POST", url, plain, content)
        SigV4Auth(self.credentials, "bedrock", self.region).add_auth(request)
        return dict(request.headers)


class _Listener:
    """AWS's event stream of ConverseStream."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self.over = False
        self._buffer: Any = EventStreamBuffer()
        self._assembly = Assembly()
        self._reason: str | None = None
        self._count = Count()

    def hear(self, piece: bytes) -> list[str]:
        self._buffer.add_data(piece)
        return [text for message in self._buffer if (text := self._message(message.headers, message.payload))]

    def answer(self) -> Answer | None:
        return (self._assembly.reply(self._reason), self._count) if self._reason else None

    def _message(self, headers: dict[str, Any], payload: bytes) -> str:
        if headers.get(":message-type") != "event":
            kind = str(headers.get(":exception-type") or headers.get(":error-code"))
            words = _words(payload) or str(headers.get(":error-message"))
            raise Complaint(kind, STATUS.get(kind.lower()), words)
        return self._event(str(headers.get(":event-type")), json.loads(payload))

    def _event(self, kind: str, event: dict[str, Any]) -> str:
        match kind, event:
            case "contentBlockStart", {"start": {"toolUse": use}, "contentBlockIndex": place}:
                self._assembly.call(place, use["toolUseId"], use["name"], "")
            case "contentBlockDelta", {"delta": {"text": text}}:
                return self._assembly.text(text)
            case "contentBlockDelta", {"delta": {"toolUse": use}, "contentBlockIndex": place}:
                self._assembly.call(place, "", "", use.get("input") or "")
            case "contentBlockDelta", {"delta": {"reasoningContent": content}}:
                self._assembly.think(bedrock_converse.thinking(content))
            case "messageStop", {"stopReason": reason}:
                self._reason = reason
            case "metadata", {"usage": usage}:
                self._count = bedrock_converse.count(usage)
        return ""


class BedrockModel(DirectModel):
    """`name` is `bedrock/<id>`, or `bedrock/converse/<id>`, where the id may be an ARN and may follow a region.

    The key is one of Bedrock's API keys; without it, the credentials are those of `session`, a botocore session. `base`
    is another endpoint than the region's own.
    """

    listener = _Listener
    variable = "AWS_BEARER_TOKEN_BEDROCK"

    def __init__(
        self,
        name: str,
        *,
        key: Callable[[], str | None] = lambda: None,
        base: str | None = None,
        session: Callable[[], Any] = session_of_the_process,
    ) -> None:
        super().__init__(name, key=key, base=base)
        self._region, self._id = on_bedrock(name)
        self._session = session

    def _sender(self, key: str | None) -> _Sender:
        load()
        session = self._session()
        region = self._region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region:
            raise ModelRequestRejected(f"{self.name} was not asked, for want of a region: set AWS_REGION")
        base = self._base or os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        endpoint = (base or f"https://bedrock-runtime.{region}.amazonaws.com").rstrip("/")
        return _Sender(endpoint, region, key, None if key else self._credentials(session))

    def _credentials(self, session: Any) -> Any:
        from botocore.exceptions import BotoCoreError

        try:
            credentials = session.get_credentials()
            if credentials is not None:
                return credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise ModelUnavailable(f"{self.name} was not asked, no AWS credentials: {type(error).__name__}") from None
        raise ModelRequestRejected(f"{self.name} was not asked, for want of AWS credentials: {REMEDIES[401]}")

    def _request(self, prompt: Prompt, known: Known) -> Request:
        shaped = profiles.follows_closed_schema(known, prompt.schema)
        spoken = messages(prompt, thinking=True, signed_ids=False)
        return {"messages": spoken, **options(prompt, shaped=shaped)}

    async def _send(self, ready: Ready, request: Request, *, streamed: bool) -> Any:
        way = "converse-stream" if streamed else "converse"
        url = f"{ready.sender.endpoint}/model/{quote(self._id, safe='')}/{way}"
        content = json.dumps(bedrock_converse.body(request, self._id, ready.known)).encode()
        client = http()
        asked = client.build_request("POST", url, content=content, headers=ready.sender.headers(url, content))
        response = await client.send(asked, stream=streamed, follow_redirects=False)
        if response.status_code == 200:
            return response
        payload = await response.aread()
        kind = response.headers.get("x-amzn-errortype", "error").split(":")[0]
        raise Complaint(kind, response.status_code, _words(payload), response.headers)

    def _errors(self) -> Errors:
        import httpx
        from botocore.eventstream import ParserError

        return Complaint, httpx.HTTPError, ParserError

    def _read(self, shape: Any) -> Answer | None:
        return bedrock_converse.answer(shape)


def _words(payload: bytes) -> str:
    """Of an error, whose name for them varies; of what else may come, the beginning."""
    try:
        told = json.loads(payload)
        return str(told.get("message") or told.get("Message") or told)
    except (ValueError, AttributeError):
        return payload[:500].decode(errors="replace")
