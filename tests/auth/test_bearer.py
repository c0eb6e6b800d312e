"""Whose token it is."""

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


class Vault:
    """A secret that can be changed, and a clock that can be set."""

    def __init__(self, *texts: str) -> None:
        self.texts: Iterator[str] = iter(texts)
        self.text = next(self.texts)
        self.reads = 0
        self.now = 5000.0
        self.door = BearerAuthenticator(self.read, lambda: self.now)

    def read(self) -> str:
        self.reads += 1
        return self.text

    def who(self, header: str | None) -> str | None:
        headers = {} if header is None else {"authorization": header}
        caller = asyncio.run(self.door.authenticate(headers))
        return caller.user_name if caller else None


def tokens(**named: str) -> str:
    return json.dumps(named)


def test_a_token_names_its_caller_and_the_secret_is_read_once_in_five_minutes() -> None:
    vault = Vault(tokens(ann=ANN, bob=BOB))
    assert [vault.who(f"Bearer {token}") for token in (ANN, BOB, ANN)] == ["ann", "bob", "ann"]
    assert vault.reads == 1
    vault.now += 299
    vault.who(f"Bearer {ANN}")
    assert vault.reads == 1
    vault.now += 1
    assert vault.who(f"Bearer {ANN}") == "ann"
    assert vault.reads == 2


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic " + ANN, ANN, f"Bearer{ANN}", f"Bearer {ANN} {ANN}", "Bearer \t"]
)
def test_no_token_is_nobody(header: str | None) -> None:
    assert Vault(tokens(ann=ANN)).who(header) is None


@pytest.mark.parametrize("header", [f"bearer {ANN}", f"BEARER {ANN}", f"Bearer   {ANN}  "])
def test_the_scheme_is_read_as_http_writes_it(header: str) -> None:
    assert Vault(tokens(ann=ANN)).who(header) == "ann"


def test_a_token_is_rotated_with_two_that_hold_for_a_while() -> None:
    vault = Vault(tokens(ann=OLD))
    assert vault.who(f"Bearer {OLD}") == "ann"
    vault.text = json.dumps({"ann": [ANN, OLD]})
    vault.now += 31
    assert vault.who(f"Bearer {ANN}") == "ann"  # the same caller, with the same tasks; and not only in five minutes
    assert vault.who(f"Bearer {OLD}") == "ann"
    vault.text = tokens(ann=ANN)
    vault.now += 300
    assert vault.who(f"Bearer {OLD}") is None


def test_an_unknown_token_makes_the_secret_be_read_no_more_than_every_half_minute() -> None:
    vault = Vault(tokens(ann=ANN))
    for _ in range(20):
        assert vault.who("Bearer nobody-0123456789abcdef") is None
        vault.now += 5
    assert vault.reads <= 1 + 100 // 30


def test_a_broken_secret_lets_nobody_in() -> None:
    for text in ("", "no json", "[]", "{}", '{"ann": 7}', '{"ann": "short"}'):
        vault = Vault(text)
        with pytest.raises(ConfigurationError, match=r"^AGENTFN_TOKENS_SECRET: the secret ") as caught:
            vault.who(f"Bearer {ANN}")
        assert not text or text not in str(caught.value) or text in ("{}", "[]")


def test_in_open_mode_all_callers_are_one_and_nobody_is_authenticated() -> None:
    caller = asyncio.run(AnonymousAuthenticator().authenticate({}))
    assert caller is not None
    assert (caller.user_name, caller.is_authenticated) == ("anyone", False)


@given(st.text(st.characters(max_codepoint=255)))
def test_no_header_breaks_it(header: str) -> None:
    vault = Vault(tokens(ann=ANN))
    assert vault.who(header) is None
    assert vault.who(f"Bearer {header}") is None


def test_nobody_can_be_given_the_name_of_everyone() -> None:
    with pytest.raises(ConfigurationError, match="names caller 1 'anyone', which is reserved"):
        Vault(tokens(anyone=ANN)).who(f"Bearer {ANN}")


def test_tokens_are_never_in_the_log(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    vault = Vault(tokens(ann=ANN))
    vault.who(f"Bearer {ANN}")
    vault.text = '{"ann": "short"}'
    vault.now += 301
    assert vault.who(f"Bearer {ANN}") == "ann"
    assert vault.who(f"Bearer {BOB}") is None
    told = caplog.text + capsys.readouterr().out
    assert "could not refresh the callers' tokens" in told
    assert not [secret for secret in (ANN, BOB, "short") if secret in told]
