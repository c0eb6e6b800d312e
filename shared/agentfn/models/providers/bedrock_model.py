"""A model behind Amazon Bedrock's Converse API.

botocore finds the credentials, signs, and decodes event streams; httpx sends. botocore's own transport blocks a thread
for as long as a model is silent: the call cannot be cancelled, its stream's `close` waits for the reader, and its read
timeout belongs to a client, not to a call.
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
from agentfn.models.error_mapping import STATUS_REMEDIES, ProviderError
from agentfn.models.model import ModelRequest
from agentfn.models.openai_format import chat_messages
from agentfn.models.optional_params import ChatRequest, request_options
from agentfn.models.prices import ModelInfo, TokenCounts
from agentfn.models.providers import bedrock_converse
from agentfn.models.providers.bedrock import parse_bedrock_name
from agentfn.models.providers.bedrock_profile import supports_closed_schema
from agentfn.models.providers.http_client import shared_client
from agentfn.models.providers.http_model import ErrorTypes, HttpModel, ParsedResponse, RequestSetup
from agentfn.models.providers.provider import ReadApiKey
from agentfn.models.stream_accumulator import StreamAccumulator

# The errors of a stream have a name but no status.
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
    """Imports the parts of botocore that a request needs."""
    for name in ("botocore.session", "botocore.auth", "botocore.eventstream"):
        importlib.import_module(name)


@cache
def process_session() -> Any:
    from botocore.session import Session

    return Session()


@dataclass(frozen=True)
class _RequestSigner:
    """The endpoint, and what a request is signed with: a Bedrock API key, else the role's credentials."""

    endpoint: str
    region: str
    api_key: str | None
    credentials: Any

    def signed_headers(self, url: str, content: bytes) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        if self.api_key:
            return {**headers, "authorization": f"Bearer {self.api_key}"}
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        request = AWSRequest("POST", url, headers, content)
        SigV4Auth(self.credentials, "bedrock", self.region).add_auth(request)
        return dict(request.headers)


class _ConverseStreamDecoder:
    """Decodes the event stream of ConverseStream."""

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
            message = _error_message(payload) or str(headers.get(":error-message"))
            raise ProviderError(kind, STREAM_ERROR_STATUS.get(kind.lower()), message)
        return self._handle_event(str(headers.get(":event-type")), json.loads(payload))

    def _handle_event(self, kind: str, event: dict[str, Any]) -> str:
        match kind, event:
            case "contentBlockStart", {"start": {"toolUse": use}, "contentBlockIndex": index}:
                self._accumulator.add_tool_call(index, use["toolUseId"], use["name"], "")
            case "contentBlockDelta", {"delta": {"text": text}}:
                return self._accumulator.add_text(text)
            case "contentBlockDelta", {"delta": {"toolUse": use}, "contentBlockIndex": index}:
                self._accumulator.add_tool_call(index, "", "", use.get("input") or "")
            case "contentBlockDelta", {"delta": {"reasoningContent": content}}:
                self._accumulator.add_thinking(bedrock_converse.thinking_block(content))
            case "messageStop", {"stopReason": reason}:
                self._stop_reason = reason
            case "metadata", {"usage": usage}:
                self._token_counts = bedrock_converse.token_counts(usage)
        return ""


class BedrockModel(HttpModel):
    """`name` is `bedrock/<id>` or `bedrock/<region>/<id>`, where the id may be an ARN.

    `api_key` is a Bedrock API key; without one, the credentials come from `session`, a botocore session. `base_url`
    replaces the region's endpoint.
    """

    decoder = _ConverseStreamDecoder
    api_key_variable = "AWS_BEARER_TOKEN_BEDROCK"

    def __init__(
        self,
        name: str,
        *,
        api_key: ReadApiKey = lambda: None,
        base_url: str | None = None,
        session: Callable[[], Any] = process_session,
    ) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self._region, self._model_id = parse_bedrock_name(name)
        self._get_session = session

    def warm_up(self) -> None:
        load_botocore()

    def _create_sender(self, api_key: str | None) -> _RequestSigner:
        load_botocore()
        session = self._get_session()
        region = self._region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if not region:
            raise ModelRequestRejected(f"{self.name} was not called, there is no region: set AWS_REGION")
        base_url = self._base_url or os.environ.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
        endpoint = (base_url or f"https://bedrock-runtime.{region}.amazonaws.com").rstrip("/")
        return _RequestSigner(endpoint, region, api_key, None if api_key else self._load_credentials(session))

    def _load_credentials(self, session: Any) -> Any:
        from botocore.exceptions import BotoCoreError

        try:
            credentials = session.get_credentials()
            if credentials is not None:
                return credentials.get_frozen_credentials()
        except BotoCoreError as error:
            kind = type(error).__name__
            raise ModelUnavailable(f"{self.name} was not called, AWS credentials failed: {kind}") from None
        raise ModelRequestRejected(f"{self.name} was not called, no AWS credentials: {STATUS_REMEDIES[401]}")

    def _build_request(self, request: ModelRequest, info: ModelInfo) -> ChatRequest:
        with_schema = supports_closed_schema(info, request.schema)
        messages = chat_messages(request, thinking=True, signed_ids=False)
        return {"messages": messages, **request_options(request, with_schema=with_schema)}

    async def _send(self, setup: RequestSetup, chat_request: ChatRequest, *, streamed: bool) -> Any:
        signer: _RequestSigner = setup.sender
        operation = "converse-stream" if streamed else "converse"
        url = f"{signer.endpoint}/model/{quote(self._model_id, safe='')}/{operation}"
        content = json.dumps(bedrock_converse.request_body(chat_request, self._model_id, setup.model_info)).encode()
        client = shared_client()
        request = client.build_request("POST", url, content=content, headers=signer.signed_headers(url, content))
        response = await client.send(request, stream=streamed, follow_redirects=False)
        if response.status_code == 200:
            return response
        payload = await response.aread()
        kind = response.headers.get("x-amzn-errortype", "error").split(":")[0]
        raise ProviderError(kind, response.status_code, _error_message(payload), response.headers)

    def _client_errors(self) -> ErrorTypes:
        import httpx
        from botocore.eventstream import ParserError

        return ProviderError, httpx.HTTPError, ParserError

    def _parse_response(self, body: Any) -> ParsedResponse | None:
        return bedrock_converse.parse_response(body)


def _error_message(payload: bytes) -> str:
    """The message of an error, in one of two fields; of any other payload, the beginning."""
    try:
        error = json.loads(payload)
        return str(error.get("message") or error.get("Message") or error)
    except (ValueError, AttributeError):
        return payload[:500].decode(errors="replace")
