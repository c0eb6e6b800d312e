import asyncio
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from agentfn.errors import ContextWindowExceeded, ModelError, ModelRequestRejected, ModelUnavailable
from agentfn.models.providers.litellm_internals import load_litellm
from agentfn.models.providers.litellm_model import LiteLLMModel
from provider_stubs.clients import (
    API_KEY,
    LOOK_TOOL,
    MODEL_CLASSES,
    MODEL_NAMES,
    Ask,
    ClientKind,
    hello_request,
    make_model,
)
from provider_stubs.script import Dialect, RawBody, ScriptedError, drops, fails
from provider_stubs.server import StubProvider

pytestmark = pytest.mark.slow

SECRET = "the patient's name is Rosalind Quartermaine-Oyelaran"


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """The log records of agentfn, at any level."""
    records: list[logging.LogRecord] = []
    log, listener = logging.getLogger("agentfn"), logging.Handler()
    listener.emit = records.append  # type: ignore[method-assign, assignment]
    level = log.level
    log.addHandler(listener)
    log.setLevel(logging.DEBUG)
    yield records
    log.setLevel(level)
    log.removeHandler(listener)


@pytest.mark.parametrize("line", [fails(s) for s in (408, 409, 429, 500, 502, 503, 504, 529)], ids=lambda f: f.status)
def test_a_transient_error_is_sent_once_and_means_unavailable(
    line: ScriptedError, provider: StubProvider, ask: Ask
) -> None:
    provider.play(line)

    with pytest.raises(ModelUnavailable, match="is not available now") as caught:
        ask(hello_request())

    assert caught.value.retry_after is None
    assert len(provider.requests) == 1


def test_a_dropped_connection_means_unavailable(provider: StubProvider, ask: Ask) -> None:
    provider.play(drops())

    with pytest.raises(ModelUnavailable):
        ask(hello_request())

    assert len(provider.requests) == 1


def test_an_address_where_no_server_listens_means_unavailable(
    client: ClientKind, dialect: Dialect, loop: asyncio.AbstractEventLoop
) -> None:
    with StubProvider() as gone:
        model = make_model(dialect, gone, client=client)

    with pytest.raises(ModelUnavailable):
        loop.run_until_complete(model.generate(hello_request()))


@pytest.mark.parametrize("shape", [{}, {"choices": []}, {"content": None}], ids=str)
def test_an_empty_response_means_unavailable(shape: dict[str, object], provider: StubProvider, ask: Ask) -> None:
    provider.play(RawBody(shape))

    with pytest.raises(ModelUnavailable):
        ask(hello_request())


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("", None)])
def test_the_wait_that_a_provider_asks_for_is_passed_on(
    header: str, seconds: float | None, provider: StubProvider, ask: Ask
) -> None:
    provider.play(fails(429, retry_after=header))

    with pytest.raises(ModelUnavailable) as caught:
        ask(hello_request())

    assert caught.value.retry_after == seconds


def test_a_wait_until_a_date_is_passed_on_in_seconds(provider: StubProvider, ask: Ask) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    provider.play(fails(503, retry_after=date))

    with pytest.raises(ModelUnavailable) as caught:
        ask(hello_request())

    assert caught.value.retry_after == pytest.approx(90, abs=15)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        (fails(400, "messages.0 is odd"), "sampling option"),
        (fails(401), "AGENT_MODEL_API_KEY"),
        (fails(402), "credit"),
        (fails(403), "may not use"),
        (fails(404), "AGENT_MODEL"),
        (fails(422), "sampling option"),
    ],
    ids=lambda case: f"{case.status}-{case.kind}" if isinstance(case, ScriptedError) else "",
)
def test_a_permanent_error_names_the_model_and_a_remedy(
    line: ScriptedError, remedy: str, provider: StubProvider, ask: Ask, dialect: Dialect
) -> None:
    provider.play(line)

    with pytest.raises(ModelRequestRejected, match=remedy) as caught:
        ask(hello_request())

    assert MODEL_NAMES[dialect] in str(caught.value)
    assert len(provider.requests) == 1


TOO_LONG: list[tuple[Dialect, ScriptedError]] = [
    ("openai", fails(400, "This model's maximum context length is 8192 tokens.", kind="context_length_exceeded")),
    ("openai", fails(400, "Your input is long", kind="context_length_exceeded")),
    ("openai", fails(413)),
    ("anthropic", fails(400, "prompt is too long: 9 tokens > 4 maximum", kind="invalid_request_error")),
    ("anthropic", fails(400, "input length and `max_tokens` exceed context limit: 9 + 1 > 4")),
    ("anthropic", fails(413, "Request exceeds the maximum size", kind="request_too_large")),
    ("bedrock", fails(400, "Input is too long for requested model.", kind="ValidationException")),
    ("bedrock", fails(400, "The model returned the following errors: prompt is too long: 9 tokens > 4 maximum")),
    ("bedrock", fails(400, "Too many input tokens. Max input tokens: 4, request input token count: 9")),
    ("bedrock", fails(400, "The model returned these errors: input length and `max_tokens` exceed context limit: 9")),
]


@pytest.mark.parametrize(("dialect", "line"), TOO_LONG)
def test_a_transcript_that_is_too_long_has_its_own_error(line: ScriptedError, provider: StubProvider, ask: Ask) -> None:
    provider.play(line)

    with pytest.raises(ContextWindowExceeded, match="set AGENTFN_MAX_HISTORY_CHARS to less"):
        ask(hello_request())

    assert len(provider.requests) == 1


THROTTLED: list[tuple[Dialect, ScriptedError]] = [
    ("openai", fails(429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000")),
    ("anthropic", fails(429, "This request would exceed the limit of 40,000 input tokens per minute.")),
    ("bedrock", fails(429, "Too many tokens, please wait before trying again.", kind="ThrottlingException")),
    ("bedrock", fails(429, "too many tokens per day, please wait", kind="ThrottlingException")),
    ("bedrock", fails(429, "Too many input tokens a minute", kind="ThrottlingException")),
]


@pytest.mark.parametrize(("dialect", "line"), THROTTLED)
def test_too_many_tokens_a_minute_are_not_a_transcript_that_is_too_long(
    line: ScriptedError, provider: StubProvider, ask: Ask
) -> None:
    provider.play(line)

    with pytest.raises(ModelUnavailable):
        ask(hello_request())


@pytest.mark.parametrize("dialect", ["openai"])
@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        (fails(400, "blocked", kind="content_policy_violation"), "content filter"),
        (fails(429, "You exceeded your current quota", kind="insufficient_quota"), "quota"),
    ],
)
def test_openais_error_code_says_more_than_the_status(
    line: ScriptedError, remedy: str, provider: StubProvider, ask: Ask
) -> None:
    provider.play(line)

    with pytest.raises(ModelRequestRejected, match=remedy):
        ask(hello_request())


@pytest.mark.parametrize("dialect", ["bedrock"])
@pytest.mark.parametrize(
    ("line", "error"),
    [
        (fails(400, "The value at messages.0 is odd", kind="ValidationException"), ModelRequestRejected),
        (fails(403, "User: arn is not authorized to perform it", kind="AccessDeniedException"), ModelRequestRejected),
        (fails(404, "Could not resolve the model", kind="ResourceNotFoundException"), ModelRequestRejected),
        (fails(408, "Model has timed out", kind="ModelTimeoutException"), ModelUnavailable),
        (fails(424, "The model failed", kind="ModelErrorException"), ModelUnavailable),
        (fails(429, "Rate exceeded", kind="ThrottlingException"), ModelUnavailable),
        (fails(429, "Model is not ready", kind="ModelNotReadyException"), ModelUnavailable),
        (fails(500, "It failed", kind="InternalServerException"), ModelUnavailable),
        (fails(503, "Bedrock is unable to process it", kind="ServiceUnavailableException"), ModelUnavailable),
    ],
    ids=lambda case: case.kind if isinstance(case, ScriptedError) else "",
)
def test_each_error_of_bedrock_is_mapped(
    line: ScriptedError, error: type[ModelError], provider: StubProvider, ask: Ask
) -> None:
    provider.play(line)

    with pytest.raises(error) as caught:
        ask(hello_request())

    assert type(caught.value) is error
    assert len(provider.requests) == 1


def test_a_rejected_option_that_was_not_sent_is_not_retried(provider: StubProvider, ask: Ask) -> None:
    provider.play(fails(400, "tool_choice is odd"))

    with pytest.raises(ModelRequestRejected):
        ask(hello_request(tools=(LOOK_TOOL,)))

    assert len(provider.requests) == 1


@pytest.mark.parametrize("name", ["gpt", "nobody/gpt"])
def test_a_model_without_a_provider_says_how_to_write_the_name(name: str, loop: asyncio.AbstractEventLoop) -> None:
    with pytest.raises(ModelRequestRejected, match="AGENT_MODEL must read provider/model") as caught:
        loop.run_until_complete(LiteLLMModel(name).generate(hello_request()))

    assert name in str(caught.value)


def test_a_missing_litellm_is_named(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    load_litellm.cache_clear()

    with pytest.raises(ModelRequestRejected, match="needs the package litellm"):
        loop.run_until_complete(LiteLLMModel("openai/gpt-4o").generate(hello_request()))


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_missing_key_is_reported_before_anything_is_sent(
    client: ClientKind,
    dialect: Dialect,
    provider: StubProvider,
    loop: asyncio.AbstractEventLoop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    base = getattr(provider, dialect)

    with pytest.raises(ModelRequestRejected, match="AGENT_MODEL_API_KEY"):
        loop.run_until_complete(
            MODEL_CLASSES[client, dialect](MODEL_NAMES[dialect], base_url=base).generate(hello_request())
        )

    assert not provider.requests


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("status", [400, 401, 500])
def test_neither_the_key_nor_the_messages_are_in_an_error_or_the_log(
    status: int, provider: StubProvider, ask: Ask, logged: list[logging.LogRecord], capfd: pytest.CaptureFixture[str]
) -> None:
    provider.play(fails(status, f"Bad key {API_KEY} for: {SECRET}"), fails(status, f"Bad key {API_KEY}."))

    said = []
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            ask(hello_request(SECRET))
        assert caught.value.__suppress_context__
        said.append(str(caught.value))
    out, err = capfd.readouterr()
    everything = " ".join([*said, *(str(vars(record)) for record in logged), out, err])

    assert API_KEY not in everything
    assert "Quartermaine" not in everything


def test_the_log_has_the_providers_error_text_where_it_quotes_nothing(
    provider: StubProvider, ask: Ask, logged: list[logging.LogRecord]
) -> None:
    provider.play(fails(400, "max_tokens must be at most 4096"))

    with pytest.raises(ModelRequestRejected):
        ask(hello_request())

    assert [record.levelname for record in logged] == ["DEBUG"]
    assert "max_tokens must be at most 4096" in vars(logged[0])["error"]


def test_a_failed_request_prints_nothing(provider: StubProvider, ask: Ask, capfd: pytest.CaptureFixture[str]) -> None:
    provider.play(fails(400), fails(500))

    for _ in range(2):
        with pytest.raises(ModelError):
            ask(hello_request())

    assert capfd.readouterr() == ("", "")
