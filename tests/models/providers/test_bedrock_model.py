"""What only the Bedrock provider does: endpoint, signature, and the format of Converse."""

import asyncio
import dataclasses
import json
import logging
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.models import ModelRequest, Sampling, ToolCall, Turn, Usage
from agentfn.models.providers.bedrock_model import BedrockModel
from provider_stubs.clients import (
    AWS_ENVIRONMENT,
    LOOK_TOOL,
    MODEL_NAMES,
    AskStreaming,
    hello_request,
    request_with_calls,
)
from provider_stubs.event_stream import event
from provider_stubs.script import RawBody, ScriptedReply, fails, says
from provider_stubs.server import StubProvider

CLAUDE = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0"

type Sent = Callable[..., dict[str, Any]]


@pytest.fixture
def model(provider: StubProvider) -> BedrockModel:
    return BedrockModel(MODEL_NAMES["bedrock"], base_url=provider.bedrock)


@pytest.fixture
def sent(provider: StubProvider, loop: asyncio.AbstractEventLoop) -> Sent:
    """Sends a request and returns the body that Bedrock received."""

    def sent(prompt: ModelRequest, name: str = MODEL_NAMES["bedrock"]) -> dict[str, Any]:
        provider.play(says("Yes."))
        loop.run_until_complete(BedrockModel(name, base_url=provider.bedrock).generate(prompt))
        assert not provider.refusals
        return provider.requests[-1].body

    return sent


@pytest.mark.parametrize(
    ("name", "path", "region"),
    [
        ("bedrock/amazon.nova-pro-v1:0", "/model/amazon.nova-pro-v1%3A0/converse", "us-east-1"),
        ("bedrock/eu-north-1/amazon.nova-pro-v1:0", "/model/amazon.nova-pro-v1%3A0/converse", "eu-north-1"),
        (
            f"bedrock/converse/{ARN}",
            "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Ainference-profile%2Feu.amazon.nova-pro-v1%3A0/converse",
            "eu-west-1",
        ),
    ],
)
def test_a_model_is_called_by_its_id_in_its_region(
    name: str, path: str, region: str, provider: StubProvider, sent: Sent
) -> None:
    sent(hello_request(), name)

    request = provider.requests[0]
    assert request.path == path
    assert f"/{region}/bedrock/aws4_request" in request.headers["authorization"]


@pytest.mark.parametrize("id_", ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", ARN])
def test_the_address_and_the_signature_are_those_of_boto3(
    id_: str, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    client = boto3.client("bedrock-runtime", region_name="eu-west-1", endpoint_url=provider.bedrock)
    model = BedrockModel(f"bedrock/eu-west-1/{id_}", base_url=provider.bedrock)

    for _ in range(50):
        provider.play(says("Yes."), says("Yes."))
        client.converse(modelId=id_, messages=[{"role": "user", "content": [{"text": "Hi."}]}])
        loop.run_until_complete(model.generate(ModelRequest("", (Turn("user", "Hi."),))))
        theirs, ours = provider.requests[-2:]
        if theirs.headers["x-amz-date"] == ours.headers["x-amz-date"]:  # which is in whole seconds, and signed
            break

    assert (ours.path, ours.body) == (theirs.path, theirs.body)
    assert ours.headers["authorization"] == theirs.headers["authorization"]
    client.close()


def test_a_bedrock_api_key_takes_precedence_over_the_role(
    provider: StubProvider, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.play(says("Yes."), says("Yes."))

    loop.run_until_complete(
        BedrockModel(CLAUDE, api_key=lambda: "mine", base_url=provider.bedrock).generate(hello_request())
    )
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "of-the-environment")
    loop.run_until_complete(BedrockModel(CLAUDE, base_url=provider.bedrock).generate(hello_request()))

    assert [r.headers["authorization"] for r in provider.requests] == ["Bearer mine", "Bearer of-the-environment"]


def test_changed_credentials_are_used_for_the_next_request(
    provider: StubProvider, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's credentials refresh themselves; each request reads them."""
    from botocore.credentials import Credentials

    keys = iter(["AKIAONE", "AKIATWO"])

    class Session:
        def get_credentials(self) -> Credentials:
            return Credentials(next(keys), "secret", "token")

    provider.play(says("Yes."), says("Yes."))
    model = BedrockModel(CLAUDE, base_url=provider.bedrock, session=Session)
    for _ in range(2):
        loop.run_until_complete(model.generate(hello_request()))

    assert [key in str(request.headers) for key, request in zip(["AKIAONE", "AKIATWO"], provider.requests, strict=True)]
    assert provider.requests[0].headers["x-amz-security-token"] == "token"


def test_without_credentials_or_a_region_nothing_is_sent(
    provider: StubProvider, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Session:
        def get_credentials(self) -> None:
            return None

        def get_config_variable(self, _: str) -> None:
            return None

    model = BedrockModel(CLAUDE, base_url=provider.bedrock, session=Session)

    with pytest.raises(ModelRequestRejected, match="role of the function"):
        loop.run_until_complete(model.generate(hello_request()))
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(ModelRequestRejected, match="set AWS_REGION"):
        loop.run_until_complete(model.generate(hello_request()))
    assert not provider.requests


def test_credentials_that_fail_to_load_mean_unavailable(
    provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    from botocore.exceptions import CredentialRetrievalError

    class Session:
        def get_credentials(self) -> None:
            raise CredentialRetrievalError(provider="container-role", error_msg="not yet")

    with pytest.raises(ModelUnavailable, match="CredentialRetrievalError"):
        loop.run_until_complete(
            BedrockModel(CLAUDE, base_url=provider.bedrock, session=Session).generate(hello_request())
        )


def test_tokens_put_into_a_cache_are_part_of_the_prompt_and_have_their_price(
    provider: StubProvider, model: BedrockModel, ask_streaming: AskStreaming, loop: asyncio.AbstractEventLoop
) -> None:
    line = ScriptedReply("Yes.", prompt=2_000, completion=10, cached=500, written=1_000)
    provider.play(line, line)

    plain, streamed = loop.run_until_complete(model.generate(hello_request())), ask_streaming(model, hello_request())[1]

    assert plain.usage == streamed.usage == Usage(2_000, 10, 500, plain.usage.cost)
    assert plain.usage.cost == pytest.approx(500 * 3.3e-06 + 500 * 3.3e-07 + 1_000 * 4.125e-06 + 10 * 1.65e-05)


def test_calls_of_tools_that_are_not_offered_any_more_still_have_their_declaration(sent: Sent) -> None:
    body = sent(request_with_calls(ToolCall("c1", "look", '{"at": "a"}'), tools=()))

    assert [tool["toolSpec"]["name"] for tool in body["toolConfig"]["tools"]] == ["look"]


def test_a_transcript_that_the_assistant_begins_gets_a_user_before_it(sent: Sent) -> None:
    messages = sent(ModelRequest("", (Turn("assistant", "Hello."), Turn("user", "Hi."))))["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_a_schema_that_leaves_an_object_open_is_not_sent(sent: Sent) -> None:
    shut = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}

    assert "outputConfig" in sent(hello_request(schema=shut))
    assert "outputConfig" not in sent(hello_request(schema={**shut, "properties": {"args": {"type": "object"}}}))
    assert "outputConfig" not in sent(hello_request(schema=shut), "bedrock/amazon.nova-pro-v1:0")


@pytest.mark.parametrize(
    ("name", "effort", "fields"),
    [
        (CLAUDE, "low", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (CLAUDE, "none", None),
        ("bedrock/us.anthropic.claude-opus-4-7", "xhigh", {"output_config": {"effort": "xhigh"}}),
        ("bedrock/us.anthropic.claude-sonnet-4-6", "xhigh", {"output_config": {"effort": "high"}}),
        ("bedrock/us.anthropic.claude-3-5-haiku-20241022-v1:0", "low", None),
        ("bedrock/us.amazon.nova-2-lite-v1:0", "minimal", {"reasoningConfig": {"maxReasoningEffort": "low"}}),
        ("bedrock/openai.gpt-oss-120b-1:0", "low", {"reasoning_effort": "low"}),
        ("bedrock/amazon.nova-pro-v1:0", "low", None),
    ],
)
def test_each_family_has_its_own_fields_for_a_reasoning_effort(
    name: str, effort: str, fields: dict[str, Any] | None, sent: Sent
) -> None:
    body = sent(hello_request(sampling=Sampling(temperature=0.5, reasoning_effort=effort)), name)

    sent_fields = body.get("additionalModelRequestFields")
    assert sent_fields is None if fields is None else _within(fields, sent_fields)
    assert ("temperature" in body.get("inferenceConfig", {})) is not ("claude" in name and fields is not None)


def test_thinking_leaves_tokens_for_the_answer_and_excludes_a_forced_choice(sent: Sent) -> None:
    thinking = Sampling(reasoning_effort="high")
    forced = hello_request(tools=(LOOK_TOOL,), tool_choice="required", sampling=thinking)

    body = sent(forced, CLAUDE)
    assert body["inferenceConfig"]["maxTokens"] > 4096
    assert "toolChoice" not in body["toolConfig"]

    bounded = dataclasses.replace(forced, sampling=dataclasses.replace(thinking, max_tokens=2_000))
    assert sent(bounded, CLAUDE)["additionalModelRequestFields"]["thinking"]["budget_tokens"] == 1_999

    tight = dataclasses.replace(forced, sampling=dataclasses.replace(thinking, max_tokens=500))
    assert "additionalModelRequestFields" not in sent(tight, CLAUDE)


def test_a_redacted_thought_that_is_no_text_comes_back_as_it_was(
    provider: StubProvider, model: BedrockModel, loop: asyncio.AbstractEventLoop
) -> None:
    opaque = b64encode(b"\xff\x00\xfe").decode()
    blocks = [{"reasoningContent": {"redactedContent": opaque}}, {"text": "Yes."}]
    provider.play(RawBody({"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": "end_turn"}))
    provider.play(says("Bye."))

    first = loop.run_until_complete(model.generate(hello_request()))
    loop.run_until_complete(model.generate(ModelRequest("", (Turn("user", "Hi."), first.turn, Turn("user", "Bye.")))))

    assert provider.requests[1].body["messages"][1]["content"][0] == blocks[0]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("something_new", "stop"),
    ],
)
def test_each_stop_reason_is_mapped(
    reason: str, finish: str, provider: StubProvider, model: BedrockModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(RawBody({"output": {"message": {"content": [{"text": "Hm."}]}}, "stopReason": reason}))

    assert loop.run_until_complete(model.generate(hello_request())).finish_reason == finish


ODD: list[Any] = [[], "no", {"output": []}, {"output": {"message": None}}, {"output": {"message": {"content": [1]}}},
                  {"output": {"message": {"content": [{"toolUse": {}}]}}}]  # fmt: skip


@pytest.mark.parametrize("shape", ODD, ids=str)
def test_a_response_that_cannot_be_read_means_unavailable(
    shape: Any,
    provider: StubProvider,
    model: BedrockModel,
    ask_streaming: AskStreaming,
    loop: asyncio.AbstractEventLoop,
) -> None:
    provider.play(RawBody(shape), RawBody({"what": "is this, which is no event stream?"}))

    with pytest.raises(ModelUnavailable):
        loop.run_until_complete(model.generate(hello_request()))
    with pytest.raises(ModelUnavailable):
        ask_streaming(model, hello_request())
    assert not asyncio.all_tasks(loop)


def test_events_may_come_in_any_pieces(provider: StubProvider, model: BedrockModel) -> None:
    data = event("contentBlockDelta", {"delta": {"text": "é"}, "contentBlockIndex": 0})
    data += event("messageStop", {"stopReason": "end_turn"}) + event("somethingNew", {})
    listener = model.decoder()

    texts = [text for place in range(len(data)) for text in listener.feed(data[place : place + 1])]
    answer = listener.result()

    assert texts == ["é"]
    assert answer is not None
    assert answer[0].text == "é"


def test_the_words_of_an_error_are_logged_without_the_token(
    provider: StubProvider, loop: asyncio.AbstractEventLoop, caplog: pytest.LogCaptureFixture
) -> None:
    provider.play(fails(403, "The token bedrock-api-key-123456 is odd", kind="AccessDeniedException"))
    model = BedrockModel(CLAUDE, api_key=lambda: "bedrock-api-key-123456", base_url=provider.bedrock)
    log = logging.getLogger("agentfn")
    log.addHandler(caplog.handler)
    log.setLevel(logging.DEBUG)

    with pytest.raises(ModelRequestRejected, match="may not use this model") as caught:
        loop.run_until_complete(model.generate(hello_request()))

    log.removeHandler(caplog.handler)
    assert "AccessDeniedException" in str(caught.value)
    assert "bedrock-api-key-123456" not in json.dumps([str(vars(record)) for record in caplog.records])


def test_the_key_ids_of_aws_are_in_no_error(provider: StubProvider, loop: asyncio.AbstractEventLoop) -> None:
    provider.play(
        fails(403, f"The security token {AWS_ENVIRONMENT['AWS_ACCESS_KEY_ID']} is invalid", kind="AccessDenied")
    )

    with pytest.raises(ModelRequestRejected) as caught:
        loop.run_until_complete(BedrockModel(CLAUDE, base_url=provider.bedrock).generate(hello_request()))

    assert AWS_ENVIRONMENT["AWS_ACCESS_KEY_ID"] not in str(caught.value)


def _within(part: Any, whole: Any) -> bool:
    if not isinstance(part, dict):
        return bool(part == whole)
    return isinstance(whole, dict) and all(name in whole and _within(part[name], whole[name]) for name in part)
