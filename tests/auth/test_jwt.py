"""AGENTFN_AUTH=jwt: tokens of an OpenID Connect provider."""

import asyncio
import base64
import hmac
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from agentfn import Agent, ConfigurationError, Settings
from agentfn.auth.authenticator import AuthenticationError
from agentfn.auth.jwks import JwksClient, fetch_https
from agentfn.auth.jwt import JwtAuthenticator, JwtRequirements
from agentfn.bootstrap.auth_factory import create_authenticator

ISSUER, AUDIENCE, KEYS = "https://id.example.com/pool", "clerk", "https://id.example.com/keys"
RSA, OTHER_RSA = (rsa.generate_private_key(65537, 2048) for _ in range(2))
WEAK = rsa.generate_private_key(65537, 1024)
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()


def jwk(kid: str | None, key: Any) -> dict[str, Any]:
    kinds: dict[type, Any] = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((made for kind, made in kinds.items() if isinstance(key, kind)), OKPAlgorithm)
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), **({"kid": kid} if kid else {})}


def token(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
    """One that holds, but for what is said otherwise; a claim that is None is left out."""
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 600, "iat": time.time(), **claims}
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode({k: v for k, v in said.items() if v is not None}, key, algorithm=algorithm, headers=headers)


class Provider:
    """Its two documents, how often they were fetched, a clock, and an authenticator that trusts it."""

    def __init__(self, *keys: Any, url: str | None = None, **terms: Any) -> None:
        self.keys: Any = list(keys) or [jwk("one", RSA)]
        self.discovery: Any = {"issuer": ISSUER, "jwks_uri": KEYS}
        self.fetched: list[str] = []
        self.down = False
        self.now = 5000.0
        jwks = JwksClient(ISSUER, url, self.fetch, lambda: self.now)
        self.authenticator = JwtAuthenticator(JwtRequirements(ISSUER, AUDIENCE, **terms), jwks)

    def fetch(self, url: str) -> bytes:
        self.fetched.append(url)
        if self.down:
            raise OSError("no route to host")
        return json.dumps({"keys": self.keys} if url == KEYS else self.discovery).encode()

    def caller_id(self, given: str, **headers: str) -> str | None:
        caller = asyncio.run(self.authenticator.authenticate({**headers, "authorization": f"Bearer {given}"}))
        return caller.user_name if caller else None

    def reject(self, given: str, **headers: str) -> AuthenticationError:
        with pytest.raises(AuthenticationError) as caught:
            self.caller_id(given, **headers)
        return caught.value


@pytest.mark.parametrize(("key", "algorithm"), [(RSA, "RS256"), (EC, "ES256"), (ED, "EdDSA")])
def test_a_token_that_holds_names_its_caller(key: Any, algorithm: str) -> None:
    provider = Provider(jwk("one", key))
    assert provider.caller_id(token(key, algorithm)) == "ann"
    assert provider.caller_id(token(key, algorithm, aud=["other", AUDIENCE])) == "ann"
    assert provider.fetched == [f"{ISSUER}/.well-known/openid-configuration", KEYS]


def test_keys_are_read_where_the_operator_says_they_are() -> None:
    provider = Provider(url=KEYS)
    assert provider.caller_id(token()) == "ann"
    assert provider.fetched == [KEYS]


def test_no_token_is_nobody() -> None:
    provider = Provider()
    for header in ({}, {"authorization": ""}, {"authorization": "Basic YQ=="}, {"authorization": "Bearer "}):
        assert asyncio.run(provider.authenticator.authenticate(header)) is None
    assert provider.authenticator.scheme.challenge == 'Bearer realm="agentfn"'
    assert not provider.fetched


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": time.time() - 300}, "expired"),
        ({"exp": None}, "lacks a claim"),
        ({"exp": "soon"}, "cannot be trusted"),
        ({"nbf": time.time() + 6000}, "not hold yet"),
        ({"iat": time.time() + 6000}, "not hold yet"),
        ({"iss": "https://evil.example.com"}, "another issuer"),
        ({"iss": ISSUER + "/"}, "another issuer"),
        ({"iss": None}, "lacks a claim"),
        ({"aud": "somebody-else"}, "another audience"),
        ({"aud": None}, "lacks a claim"),
        ({"sub": None}, "names nobody"),
        ({"sub": ""}, "names nobody"),
    ],
)
def test_a_token_that_does_not_hold_is_refused_with_the_reason(claims: dict[str, Any], reason: str) -> None:
    error = Provider().reject(token(**claims))
    assert reason in str(error)
    assert error.status == 401
    assert error.challenge.startswith('Bearer realm="agentfn", error="invalid_token"')


@pytest.mark.parametrize("claims", [{"exp": -30}, {"nbf": 30}, {"iat": 30}])
def test_clocks_may_differ_by_a_minute(claims: dict[str, Any]) -> None:
    skewed: dict[str, Any] = {name: time.time() + off for name, off in claims.items()}
    assert Provider().caller_id(token(**skewed)) == "ann"


def unsigned(header: dict[str, Any], signature: str = "", secret: bytes = b"") -> str:
    """A token made by hand: with that signature, or with an HMAC."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": time.time() + 600}
    said = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    return f"{said}.{encoded(hmac.digest(secret, said.encode(), 'sha256')) if secret else signature}"


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def test_an_algorithm_of_the_sender_s_choice_opens_nothing() -> None:
    provider = Provider(jwk("one", RSA), jwk("two", EC), {"kty": "oct", "kid": "three", "k": "c2VjcmV0" * 8})
    public = json.dumps(jwk("one", RSA))
    forged = [
        unsigned({"alg": "none"}),
        unsigned({"alg": "None", "kid": "one"}),
        unsigned({"alg": ["RS256"], "kid": "one"}),
        unsigned({"alg": "RS256", "kid": "one"}),
        unsigned({"alg": "RS256", "kid": "one"}, "AAAA"),
        unsigned({"alg": "RS256", "kid": {"one": 1}}, "AAAA"),
        unsigned({"alg": "HS256", "kid": "one"}, secret=public.encode()),  # signed with what everyone can read
        token("secret" * 8, "HS256", "three"),
        token(RSA, "PS256"),
        token(RSA, "RS512"),
        token(EC, "ES256", "one"),  # a key of another kind under that id
        token(RSA, "RS256", "two"),
        token(OTHER_RSA),
        jwt.encode(
            {"sub": "ann"}, OTHER_RSA, "RS256", {"jwk": jwk("one", OTHER_RSA), "jku": "https://evil.example.com"}
        ),
    ]
    assert {provider.reject(given).status for given in forged} == {401}
    assert not [url for url in provider.fetched if "evil" in url]


def test_a_key_that_is_too_short_or_for_something_else_is_none() -> None:
    assert "cannot be trusted" in str(Provider(jwk("one", WEAK)).reject(_weakly_signed()))
    provider = Provider({**jwk("one", RSA), "use": "enc"}, jwk("two", EC), {"kty": "RSA", "kid": "broken"}, "no key")
    provider.reject(token())
    assert provider.caller_id(token(EC, "ES256", "two")) == "ann"


def _weakly_signed() -> str:
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        return token(WEAK)


def test_the_issuer_s_keys_are_rotated() -> None:
    provider = Provider()
    assert provider.caller_id(token()) == "ann"
    provider.keys = [jwk("one", RSA), jwk("two", OTHER_RSA)]
    provider.now += 31
    assert provider.caller_id(token(OTHER_RSA, kid="two")) == "ann"  # and not only in five minutes
    provider.keys = [jwk("two", OTHER_RSA)]
    provider.now += 300
    assert provider.caller_id(token(OTHER_RSA, kid="two")) == "ann"
    provider.reject(token())


def test_an_unknown_key_makes_them_be_read_no_more_than_every_half_minute() -> None:
    provider = Provider(url=KEYS)
    for _ in range(20):
        provider.reject(token(OTHER_RSA, kid="unknown"))
        provider.now += 5
    assert len(provider.fetched) <= 1 + 100 // 30


def test_a_token_without_a_key_s_id_needs_the_key_to_be_the_only_one() -> None:
    provider = Provider(jwk(None, RSA), jwk("two", EC))
    assert provider.caller_id(token(kid=None)) == "ann"
    provider = Provider(jwk("one", RSA), jwk("two", OTHER_RSA))
    provider.reject(token(kid=None))


def test_keys_that_cannot_be_read_again_stay_valid_and_without_any_nobody_can_be_checked() -> None:
    provider = Provider()
    assert provider.caller_id(token()) == "ann"
    provider.down = True
    provider.now += 301
    assert provider.caller_id(token()) == "ann"
    fresh = Provider()
    fresh.down = True
    with pytest.raises(ConfigurationError, match=r"signing keys of https://id.*no route to host.*AGENTFN_JWT_ISSUER"):
        fresh.caller_id(token())
    fresh.down = False
    assert fresh.caller_id(token()) == "ann"


@pytest.mark.parametrize(
    "discovery", [{}, [], {"issuer": "https://evil.example.com", "jwks_uri": KEYS}, {"issuer": ISSUER}]
)
def test_a_document_of_another_issuer_says_nothing_of_this_one_s_keys(discovery: Any) -> None:
    provider = Provider()
    provider.discovery = discovery
    with pytest.raises(ConfigurationError, match="openid-configuration"):
        provider.caller_id(token())
    assert KEYS not in provider.fetched


@pytest.mark.parametrize("keys", [[], None, [{"kty": "oct", "k": "c2VjcmV0"}]])
def test_a_set_without_usable_keys_lets_nobody_in(keys: Any) -> None:
    provider = Provider()
    provider.keys = keys
    with pytest.raises(ConfigurationError, match="has no key for RS256, ES256, EdDSA"):
        provider.caller_id(token())


def test_another_claim_can_be_the_caller_and_nobody_names_himself_in_a_header() -> None:
    provider = Provider(claim="client_id")
    forged = {"x-amzn-oidc-identity": "bob", "x-user": "bob", "sub": "bob", "client_id": "bob"}
    assert provider.caller_id(token(client_id="robot"), **forged) == "robot"
    assert provider.caller_id(token(client_id="a/b#c"), **forged) == provider.caller_id(token(client_id="a/b#c"))
    assert "client_id" in str(provider.reject(token(), **forged))


@pytest.mark.parametrize("claims", [{"scope": "read write"}, {"scp": ["write", "read"]}, {"scp": "write read x"}])
def test_scopes_that_are_asked_for_must_be_there(claims: dict[str, Any]) -> None:
    provider = Provider(scopes=("read", "write"))
    assert provider.caller_id(token(**claims)) == "ann"
    some: list[dict[str, Any]] = [{}, {"scope": "read"}, {"scp": []}, {"scope": "readwrite"}]
    for lacking in some:
        error = provider.reject(token(**lacking))
        assert error.status == 403
        assert 'error="insufficient_scope"' in error.challenge
        assert 'scope="read write"' in error.challenge


def test_tokens_are_never_in_the_log(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    provider = Provider()
    given = [token(), token(exp=1), token(OTHER_RSA), token("secret" * 8, "HS256"), "a.b.c"]
    for each in given[1:]:
        error = provider.reject(each)
        assert not [part for part in each.split(".") if len(part) > 3 and part in f"{error}{error.challenge}"]
    provider.caller_id(given[0])
    told = caplog.text + capsys.readouterr().out
    assert not [part for each in given for part in each.split(".") if len(part) > 3 and part in told]


@given(st.text(st.characters(max_codepoint=255)), st.booleans())
def test_no_header_breaks_it(text: str, inside: bool) -> None:
    given = encoded(text.encode()) + ".e30." if inside else text
    if given.strip():
        assert Provider().reject(given).status == 401


@pytest.mark.parametrize("header", ["[" * 9000, '{"alg":' * 2000, "7", '{"alg":"RS256","kid":"' + "x" * 9000 + '"}'])
def test_no_token_of_any_depth_breaks_it(header: str) -> None:
    given = encoded(header.encode()) + ".e30.AAAA"
    assert Provider().reject(given).status == 401


def test_without_its_packages_the_start_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    with pytest.raises(ConfigurationError, match=r"extra `jwt`.*agentfn\[jwt\]"):
        Provider()


@pytest.mark.parametrize("url", ["http://127.0.0.1/keys", "file:///etc/passwd", "ftp://id.example.com/keys", "keys"])
def test_keys_are_fetched_with_https_only(url: str) -> None:
    fetch: Callable[[str], bytes] = fetch_https
    with pytest.raises(ValueError, match="is not an https URL"):
        fetch(url)


SETTINGS = {
    "AGENTFN_TABLE": "t",
    "AGENTFN_BUCKET": "b",
    "AGENTFN_QUEUE_URL": "q",
    "AGENTFN_AUTH": "jwt",
    "AGENTFN_JWT_ISSUER": ISSUER,
    "AGENTFN_JWT_AUDIENCE": AUDIENCE,
}


def test_the_settings_say_whose_tokens_are_taken_and_who_is_in_them(agent: Agent) -> None:
    provider = Provider()
    asked = {**SETTINGS, "AGENTFN_JWT_CLAIM": "client_id", "AGENTFN_JWT_SCOPES": "read", "AGENTFN_JWT_JWKS_URL": KEYS}
    door = create_authenticator(agent, Settings.load(asked), provider.fetch)
    headers = {"authorization": f"Bearer {token(client_id='robot', scope='read write')}"}
    caller = asyncio.run(door.authenticate(headers))
    assert caller is not None
    assert (caller.user_name, caller.is_authenticated) == ("robot", True)
    assert provider.fetched == [KEYS]


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"AGENTFN_JWT_ISSUER": ""}, "needs AGENTFN_JWT_ISSUER and AGENTFN_JWT_AUDIENCE"),
        ({"AGENTFN_JWT_AUDIENCE": ""}, "needs AGENTFN_JWT_ISSUER and AGENTFN_JWT_AUDIENCE"),
        ({"AGENTFN_JWT_ISSUER": "http://id.example.com"}, "AGENTFN_JWT_ISSUER: must be an https URL"),
        ({"AGENTFN_JWT_JWKS_URL": "file:///keys"}, "AGENTFN_JWT_JWKS_URL: must be an https URL"),
        ({"AGENTFN_JWT_SCOPES": 'a"b'}, "AGENTFN_JWT_SCOPES: must be space-separated scopes"),
    ],
)
def test_settings_that_would_trust_nobody_in_particular_stop_the_start(wrong: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        Settings.load({**SETTINGS, **wrong})
