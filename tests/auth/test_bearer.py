"""AGENTFN_AUTH=bearer: callers, rotation of tokens, failures."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn import ConfigurationError
from agentfn.auth.authenticator import AnonymousAuthenticator
from agentfn.auth.bearer import BearerAuthenticator

ANN, BOB, OLD = "ann-0123456789abcdef", "bob-0123456789abcdef", "old-0123456789abcdef"


class SecretStub:
    """A secret that can be changed, and a clock that can be set."""

    def __init__(self, *texts: str) -> None:
        self.texts: Iterator[str] = iter(texts)
        self.text = next(self.texts)
        self.reads = 0
        self.now = 5000.0
        self.authenticator = BearerAuthenticator(self.read, lambda: self.now)

    def read(self) -> str:
        self.reads += 1
        return self.text

    def caller_id(self, header: str | None) -> str | None:
        headers = {} if header is None else {"authorization": header}
        caller = asyncio.run(self.authenticator.authenticate(headers))
        return caller.user_name if caller else None


def tokens(**named: str) -> str:
    return json.dumps(named)


def test_a_token_names_its_caller_and_the_secret_is_read_once_in_five_minutes() -> None:
    secret = SecretStub(tokens(ann=ANN, bob=BOB))
    assert [secret.caller_id(f"Bearer {token}") for token in (ANN, BOB, ANN)] == ["ann", "bob", "ann"]
    assert secret.reads == 1
    secret.now += 299
    secret.caller_id(f"Bearer {ANN}")
    assert secret.reads == 1
    secret.now += 1
    assert secret.caller_id(f"Bearer {ANN}") == "ann"
    assert secret.reads == 2


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic " + ANN, ANN, f"Bearer{ANN}", f"Bearer {ANN} {ANN}", "Bearer \t"]
)
def test_no_token_is_nobody(header: str | None) -> None:
    assert SecretStub(tokens(ann=ANN)).caller_id(header) is None


@pytest.mark.parametrize("header", [f"bearer {ANN}", f"BEARER {ANN}", f"Bearer   {ANN}  "])
def test_the_scheme_is_read_as_http_writes_it(header: str) -> None:
    assert SecretStub(tokens(ann=ANN)).caller_id(header) == "ann"


def test_a_token_is_rotated_with_two_that_hold_for_a_while() -> None:
    secret = SecretStub(tokens(ann=OLD))
    assert secret.caller_id(f"Bearer {OLD}") == "ann"
    secret.text = json.dumps({"ann": [ANN, OLD]})
    secret.now += 31
    assert (
        secret.caller_id(f"Bearer {ANN}") == "ann"
    )  # the same caller, with the same tasks; and not only in five minutes
    assert secret.caller_id(f"Bearer {OLD}") == "ann"
    secret.text = tokens(ann=ANN)
    secret.now += 300
    assert secret.caller_id(f"Bearer {OLD}") is None


def test_an_unknown_token_makes_the_secret_be_read_no_more_than_every_half_minute() -> None:
    secret = SecretStub(tokens(ann=ANN))
    for _ in range(20):
        assert secret.caller_id("Bearer nobody-0123456789abcdef") is None
        secret.now += 5
    assert secret.reads <= 1 + 100 // 30


def test_a_broken_secret_lets_nobody_in() -> None:
    for text in ("", "no json", "[]", "{}", '{"ann": 7}', '{"ann": "short"}'):
        secret = SecretStub(text)
        with pytest.raises(ConfigurationError, match=r"^AGENTFN_TOKENS_SECRET: the secret ") as caught:
            secret.caller_id(f"Bearer {ANN}")
        assert not text or text not in str(caught.value) or text in ("{}", "[]")


def test_in_open_mode_all_callers_are_one_and_nobody_is_authenticated() -> None:
    caller = asyncio.run(AnonymousAuthenticator().authenticate({}))
    assert caller is not None
    assert (caller.user_name, caller.is_authenticated) == ("anyone", False)


@given(st.text(st.characters(max_codepoint=255)))
def test_no_header_breaks_it(header: str) -> None:
    secret = SecretStub(tokens(ann=ANN))
    assert secret.caller_id(header) is None
    assert secret.caller_id(f"Bearer {header}") is None


def test_nobody_can_be_given_the_name_of_everyone() -> None:
    with pytest.raises(ConfigurationError, match="names caller 1 'anyone', which is reserved"):
        SecretStub(tokens(anyone=ANN)).caller_id(f"Bearer {ANN}")


def test_tokens_are_never_in_the_log(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    secret = SecretStub(tokens(ann=ANN))
    secret.caller_id(f"Bearer {ANN}")
    secret.text = '{"ann": "short"}'
    secret.now += 301
    assert secret.caller_id(f"Bearer {ANN}") == "ann"
    assert secret.caller_id(f"Bearer {BOB}") is None
    logged = caplog.text + capsys.readouterr().out
    assert "could not refresh the callers' tokens" in logged
    assert not [value for value in (ANN, BOB, "short") if value in logged]
