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
from agentfn.models.error_mapping import STATUS_REMEDIES, ProviderError
from agentfn.models.model import ModelRequest
from agentfn.models.openai_format import chat_messages
from agentfn.models.optional_params import ChatRequest, request_options
from agentfn.models.prices import ModelInfo, TokenCounts
from agentfn.models.providers import bedrock_converse
from agentfn.models.providers.http_client import shared_client
from agentfn.models.providers.http_model import ErrorTypes, HttpModel, ParsedResponse, RequestSetup
from agentfn.models.registry import parse_bedrock_name
from agentfn.models.stream_accumulator import StreamAccumulator

# A stream's errors have no status of their own.
STREAM_ERROR_STATUS = {
    "internalserverexception": 500,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}


@cache
def load_botocore() -> None:
    """What a question needs of botocore."""
    for name in ("botocore.session", "botocore.auth", "botocore.eventstream"):
        importlib.import_module(name)


@cache
def process_session() -> Any:
    from botocore.session import Session

    return Session()


@dataclass(frozen=True)
class _RequestSigner:
    """Where to, and what a request is signed with: an API key of Bedrock's, else the role's credentials."""

    endpoint: str
    region: str
    api_key: str | None
    credentials: Any

    def signed_headers(self, url: str, content: bytes) -> dict[str, str]:
        plain = {"content-type": "application/json"}
        if self.api_key:
            return {**plain, "authorization": f"Bearer {self.api_key}"}
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest("POST", url, plain, content)
        SigV4Auth(self.credentials, "bedrock", self.region).add_auth(request)
        return dict(request.headers)


class _ConverseStreamDecoder:
    """AWS's event stream of ConverseStream."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self.done = False
        self._buffer: Any = EventStreamBuffer()
        self._accumulator = StreamAccumulator()
        self._stop_reason: str | None = None
        self._token_counts = TokenCounts()

    def feed(self, piece: bytes) -> list[str]:
        self._buffer.add_data(piece)
        return [text for message in self._buffer if (text := self._handle_message(message.headers, message.payload))]

    def result(self) -> ParsedResponse | None:
        return (self._accumulator.to_response(self._stop_reason), self._token_counts) if self._stop_reason else None

    def _handle_message(self, headers: dict[str, Any], payload: bytes) -> str:
        if headers.get(":message-type") != "event":
            kind = str(headers.get(":exception-type") or headers.get(":error-code"))
            words = _error_message(payload) or str(headers.get(":error-message"))
            raise ProviderError(kind, STREAM_ERROR_STATUS.get(kind.lower()), words)
        return self._handle_event(str(headers.get(":event-type")), json.loads(payload))

    def _handle_event(self, kind: str, event: dict[str, Any]) -> str:
        match kind, event:
            case "contentBlockStart", {"start": {"toolUse": use}, "contentBlockIndex": place}:
                self._accumulator.add_tool_call(place, use["toolUseId"], use["name"], "")
            case "contentBlockDelta", {"delta": {"text": text}}:
                return self._accumulator.add_text(text)
            case "contentBlockDelta", {"delta": {"toolUse": use}, "contentBlockIndex": place}:
                self._accumulator.add_tool_call(place, "", "", use.get("input") or "")
            case "contentBlockDelta", {"delta": {"reasoningContent": content}}:
                self._accumulator.add_thinking(bedrock_converse.thinking_block(content))
            case "messageStop", {"stopReason": reason}:
                self._stop_reason = reason
            case "metadata", {"usage": usage}:
                self._token_counts = bedrock_converse.token_counts(usage)
        return ""


class BedrockModel(HttpModel):
    """`name` is `bedrock/<id>`, or `bedrock/converse/<id>`, where the id may be an ARN and may follow a region.

    The key is one of Bedrock's API keys; without it, the credentials are those of `session`, a botocore session. `base`
    is another endpoint than the region's own.
    """

    decoder = _ConverseStreamDecoder
    api_key_variable = "AWS_BEARER_TOKEN_BEDROCK"

    def __init__(
        self,
        name: str,
        *,
        api_key: Callable[[], str | None] = lambda: None,
        base_url: str | None = None,
        session: Callable[[], Any] = process_session,
    ) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self._region, self._model_id = parse_bedrock_name(name)
        self._get_session = session

    def _create_sender(self, key: str | None) -> _RequestSigner:
        load_botocore()
        session = self._get_session()
        region = self._region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region:
            raise ModelRequestRejected(f"{self.name} was not asked, for want of a region: set AWS_REGION")
        base = self._base_url or os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        endpoint = (base or f"https://bedrock-runtime.{region}.amazonaws.com").rstrip("/")
        return _RequestSigner(endpoint, region, key, None if key else self._load_credentials(session))

    def _load_credentials(self, session: Any) -> Any:
        from botocore.exceptions import BotoCoreError

        try:
            credentials = session.get_credentials()
            if credentials is not None:
                return credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise ModelUnavailable(f"{self.name} was not asked, no AWS credentials: {type(error).__name__}") from None
        raise ModelRequestRejected(f"{self.name} was not asked, for want of AWS credentials: {STATUS_REMEDIES[401]}")

    def _build_request(self, prompt: ModelRequest, known: ModelInfo) -> ChatRequest:
        shaped = profiles.supports_closed_schema(known, prompt.schema)
        spoken = chat_messages(prompt, thinking=True, signed_ids=False)
        return {"messages": spoken, **request_options(prompt, with_schema=shaped)}

    async def _send(self, ready: RequestSetup, request: ChatRequest, *, streamed: bool) -> Any:
        way = "converse-stream" if streamed else "converse"
        url = f"{ready.sender.endpoint}/model/{quote(self._model_id, safe='')}/{way}"
        content = json.dumps(bedrock_converse.request_body(request, self._model_id, ready.model_info)).encode()
        client = shared_client()
        asked = client.build_request("POST", url, content=content, headers=ready.sender.headers(url, content))
        response = await client.send(asked, stream=streamed, follow_redirects=False)
        if response.status_code == 200:
            return response
        payload = await response.aread()
        kind = response.headers.get("x-amzn-errortype", "error").split(":")[0]
        raise ProviderError(kind, response.status_code, _error_message(payload), response.headers)

    def _client_errors(self) -> ErrorTypes:
        import httpx
        from botocore.eventstream import ParserError

        return ProviderError, httpx.HTTPError, ParserError

    def _parse_response(self, shape: Any) -> ParsedResponse | None:
        return bedrock_converse.parse_response(shape)


def _error_message(payload: bytes) -> str:
    """Of an error, whose name for them varies; of what else may come, the beginning."""
    try:
        told = json.loads(payload)
        return str(told.get("message") or told.get("Message") or told)
    except (ValueError, AttributeError):
        return payload[:500].decode(errors="replace")
