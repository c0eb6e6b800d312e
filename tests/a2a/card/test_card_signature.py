"""What the agent signs, checked by others with the keys that it publishes."""

import asyncio
import base64
import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import jwt
import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from agentfn import Agent, ConfigurationError, Skill
from agentfn.a2a.card.signing_keys import SigningKeys, parse_keys
from agentfn.aws_clients import aws_client
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, rest_event
from support.raw_http_server import RawHttpServer, http_response

pytestmark = pytest.mark.slow

CARD, KEYS = "/.well-known/agent-card.json", "/.well-known/jwks.json"
NAME = "AGENTFN_SIGNING_KEY"
ALGORITHMS = ["ES256", "RS256", "EdDSA"]
EC, OTHER_EC, P384 = (ec.generate_private_key(curve()) for curve in (ec.SECP256R1, ec.SECP256R1, ec.SECP384R1))
RSA, WEAK = (rsa.generate_private_key(65537, size) for size in (2048, 1024))
ED = ed25519.Ed25519PrivateKey.generate()


def pem(
    key: Any,
    layout: PrivateFormat = PrivateFormat.PKCS8,
    locked: KeySerializationEncryption = NoEncryption(),  # noqa: B008
) -> str:
    return str(key.private_bytes(Encoding.PEM, layout, locked).decode())


def stage(key: str = "", *skills: Skill, **settings: Any) -> Stage:
    agent = Agent(name="clerk", description="Ein Schreiber, süß & genau: 你好.", skills=skills)
    return Stage(agent, ScriptedModel("Done."), **{"signing_key": key or pem(EC), **settings})


def body(answer: dict[str, Any]) -> Any:
    assert answer["statusCode"] == 200, answer
    return json.loads(answer["body"])


def public_keys(stage: Stage) -> dict[str, jwt.PyJWK]:
    """As anybody gets them, without a token."""
    return {jwk["kid"]: jwt.PyJWK(jwk) for jwk in body(stage.request("GET", KEYS))["keys"]}


def check(stage: Stage, card: Any, algorithms: list[str] = ALGORITHMS) -> None:
    """As the sdk's client does it: parses the card, and checks it with the key that it is told of."""

    def key(kid: str | None, jku: str | None) -> jwt.PyJWK:
        assert jku == parsed.supported_interfaces[0].url + KEYS
        return public_keys(stage)[str(kid)]

    parsed = parse_agent_card(json.loads(json.dumps(card)))
    create_signature_verifier(key, algorithms)(parsed)


def header_of(card: Any) -> Any:
    protected = card["signatures"][0]["protected"]
    return json.loads(base64.urlsafe_b64decode(protected + "=" * (-len(protected) % 4)))


@pytest.mark.parametrize(
    ("text", "algorithm"),
    [
        (pem(EC), "ES256"),
        (pem(EC, PrivateFormat.TraditionalOpenSSL), "ES256"),
        ("-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + pem(EC), "ES256"),
        (pem(RSA), "RS256"),
        (pem(RSA, PrivateFormat.TraditionalOpenSSL), "RS256"),
        (pem(ED), "EdDSA"),
        (pem(EC).replace("\n", "\\n"), "ES256"),
    ],
)
def test_a_card_is_signed_with_the_key_that_is_there_and_can_be_checked(text: str, algorithm: str) -> None:
    with stage(text) as played:
        for path in (CARD, "/.well-known/agent.json"):
            card = body(played.request("GET", path))
            check(played, card, [algorithm])
            header = header_of(card)
            assert (header["alg"], header["typ"]) == (algorithm, "JOSE")
            assert header["jku"] == card["url"] + KEYS
            assert header["kid"] in public_keys(played)


OIDC = {"auth": "jwt", "jwt_issuer": "https://id.example.com", "jwt_audience": "clerk", "jwt_scopes": "a b"}


@pytest.mark.parametrize("settings", [{"auth": "none"}, {"auth": "iam"}, OIDC, {"streaming": "true", "push": "false"}])
def test_a_card_can_be_checked_whatever_is_on_it(settings: dict[str, str]) -> None:
    with stage("", Skill("one", "One", "", examples=("ß",)), **settings) as played:
        check(played, body(played.request("GET", CARD)))


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card.update(name="other"),
        lambda card: card["supportedInterfaces"][0].update(url="https://evil.example.com"),
        lambda card: card["skills"].append({"id": "x", "name": "X", "description": "X", "tags": []}),
        lambda card: card["capabilities"].update(pushNotifications=False),
        lambda card: card["securitySchemes"].clear(),
    ],
)
def test_a_card_that_somebody_changed_is_found_out(change: Callable[[Any], None]) -> None:
    with stage() as played:
        card = body(played.request("GET", CARD))
        change(card)
        with pytest.raises((InvalidSignaturesError, AssertionError)):
            check(played, card)


def test_the_extended_card_is_signed_too_and_the_one_in_the_old_layout_is_not() -> None:
    with stage("", Skill("audit", "Audit", "Looks.", public=False)) as played:
        extended = played.rpc("GetExtendedAgentCard", {})
        check(played, extended)
        assert extended["signatures"] != body(played.request("GET", CARD))["signatures"]
        assert "signatures" not in played.rpc("agent/getAuthenticatedExtendedCard", None)


def test_each_address_has_its_own_signature_and_one_address_keeps_it() -> None:
    with stage() as played:

        def card(domain: str) -> Any:
            event = rest_event("GET", "/.well-known/agent-card.json", domain=domain)
            return body(played.handler(event, LocalLambdaContext(30)))

        first, second = card("a.example.com"), card("b.example.com")
        assert header_of(first)["jku"] == "https://a.example.com" + KEYS
        check(played, first)
        check(played, second)
        assert card("a.example.com") == first


def test_what_a_client_has_kept_is_good_whichever_process_signed_it() -> None:
    with stage() as played:
        first = played.request("GET", CARD)
        assert first["headers"]["etag"].startswith('W/"')
        played.handler = played.new_environment()
        assert played.request("GET", CARD)["body"] != first["body"]  # ECDSA: another signature, as good
        again = played.request("GET", CARD, headers={"If-None-Match": first["headers"]["etag"]})
        assert again["statusCode"] == 304
        played._settings[NAME] = pem(OTHER_EC)
        played.handler = played.new_environment()
        changed = played.request("GET", CARD, headers={"If-None-Match": first["headers"]["etag"]})
        assert changed["statusCode"] == 200


def test_the_keys_that_are_published_are_public_and_may_be_kept() -> None:
    with stage(pem(EC) + pem(RSA) + pem(ED) + pem(EC)) as played:
        answered = played.request("GET", KEYS)
        keys = body(answered)["keys"]
        again = played.request("GET", KEYS, headers={"If-None-Match": answered["headers"]["etag"]})
        assert (again["statusCode"], played.request("HEAD", KEYS)["statusCode"]) == (304, 200)
    assert answered["headers"]["cache-control"] == "public, max-age=300"
    assert [(key["kty"], key["alg"], key["use"]) for key in keys] == [
        ("EC", "ES256", "sig"),
        ("RSA", "RS256", "sig"),
        ("OKP", "EdDSA", "sig"),
    ]
    for key in keys:
        assert key.keys() <= {"kty", "crv", "x", "y", "n", "e", "kid", "use", "alg"}


def test_a_key_is_named_by_its_thumbprint() -> None:
    """Source: RFC 8037, A.1 and A.3."""
    private = base64.urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    (key,) = parse_keys(pem(ed25519.Ed25519PrivateKey.from_private_bytes(private)))
    assert key.id == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_while_keys_are_rotated_the_first_signs_and_all_are_published() -> None:
    with stage(pem(EC)) as played:
        before = body(played.request("GET", CARD))
        played._settings[NAME] = pem(OTHER_EC) + pem(EC)
        played.handler = played.new_environment()
        after = body(played.request("GET", CARD))
        assert len(public_keys(played)) == 2
        assert header_of(after)["kid"] != header_of(before)["kid"]
        check(played, after)
        check(played, before)


def tell(stage: Stage, text: str) -> str:
    """Puts keys into a secret, for a new process to find; its ARN."""
    arn = str(aws_client("secretsmanager").create_secret(Name=f"signing-{uuid4()}", SecretString=text)["ARN"])
    stage._settings["AGENTFN_SIGNING_SECRET"] = arn
    stage.handler = stage.new_environment()
    return arn


def test_keys_in_a_secret_are_read_when_they_are_first_needed_and_once() -> None:
    with stage(signing_key="", signing_secret="to be made") as played:
        tell(played, json.dumps({"key": pem(EC)}))
        reads: list[int] = []
        aws_client("secretsmanager").meta.events.register("before-call", lambda **_: reads.append(1))
        played.rpc("ListTasks", {})
        assert reads == []
        check(played, body(played.request("GET", CARD)))
        assert reads == [1]


def test_a_process_that_lives_sees_new_keys_and_keeps_the_old_ones_where_it_cannot_read() -> None:
    texts = [pem(EC), "nothing", pem(OTHER_EC) + pem(EC)]
    now = [1000.0]
    ring = SigningKeys(lambda: texts.pop(0), "AGENTFN_SIGNING_SECRET", lambda: now[0])

    def ids() -> list[str]:
        return [key.id for key in asyncio.run(ring.current())]

    first = ids()
    assert (ids(), len(texts)) == (first, 2)
    now[0] += 301
    assert (ids(), len(texts)) == (first, 1)
    now[0] += 301
    assert ids()[1:] == first


UNUSABLE = {
    "nothing of the kind": "swordfish",
    "cut off": pem(EC)[:60],
    "damaged": pem(EC).replace("M", "\u00e9", 1),
    "not base64": "-----BEGIN PRIVATE KEY-----\nswordfish\n-----END PRIVATE KEY-----",
    "with a passphrase": pem(EC, PrivateFormat.PKCS8, BestAvailableEncryption(b"swordfish")),
    "with a passphrase, of OpenSSL": pem(EC, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"swordfish")),
    "public": EC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
    "of another curve": pem(P384),
    "too short": pem(WEAK),
    "second is bad": pem(EC) + pem(P384),
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=list(UNUSABLE))
def test_a_key_that_is_of_no_use_stops_the_start_by_name_and_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{NAME}: .*EC on P-256") as refused, stage(text):
        raise AssertionError("it starts")
    shown = f"{refused.value!r} {refused.value.__cause__!r}"
    for line in text.splitlines():
        assert not line or "-----" in line or line not in shown


@pytest.mark.parametrize("package", ["jwt", "cryptography"])
@pytest.mark.parametrize("variable", [NAME, "AGENTFN_SIGNING_SECRET"])
def test_without_its_packages_the_start_names_the_extra(
    variable: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=rf"{variable} is set.*extra `jwt`.*agentfn\[jwt\]"):
        SigningKeys(lambda: "", variable)


@pytest.mark.parametrize("text", ["swordfish", None])
def test_where_the_secret_gives_no_key_there_is_no_card_but_everything_else(text: str | None) -> None:
    """Rather than one without a signature, which its readers would have to take for somebody else's."""
    with stage(signing_key="", signing_secret="arn:of:none") as played:
        if text is not None:
            tell(played, text)
        for path in (CARD, KEYS):
            answered = played.request("GET", path)
            assert answered["statusCode"] == 503
            assert "swordfish" not in answered["body"]
        assert played.request("GET", "/health")["statusCode"] == 200
        assert played.send("Hi!")["status"]["state"] == "TASK_STATE_COMPLETED"


def test_without_a_key_nothing_is_signed_and_no_keys_are_published() -> None:
    with Stage(Agent(name="clerk", description="A clerk."), ScriptedModel()) as played:
        assert "signatures" not in body(played.request("GET", CARD))
        assert played.request("GET", KEYS)["statusCode"] == 404


def notified(played: Stage, hook: RawHttpServer, **config: Any) -> str:
    """Sends a message whose subscriber is `hook`, and delivers what there is to tell him; the task's id."""
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi! 你好"}]}
    configuration = {"returnImmediately": True, "taskPushNotificationConfig": {"url": hook.url + "/hook", **config}}
    task = played.rpc("SendMessage", {"message": said, "configuration": configuration})["task"]
    deliver(played)
    return str(task["id"])


def deliver(stage: Stage) -> None:
    """What is due, and what would be later."""
    for _ in range(3):
        for message in waiting(stage):
            message.delayed_until = 0
        stage.drain_queue()


def waiting(stage: Stage) -> list[Any]:
    from moto.sqs.models import sqs_backends

    _, name = stage.resources.queue_url.rsplit("/", 1)
    return [
        message for account in sqs_backends.values() for message in account["eu-central-1"].get_queue(name)._messages
    ]


def checked(played: Stage, hook: RawHttpServer, token: str) -> dict[str, Any]:
    """What a token says, checked as a subscriber does it, who knows the agent's card."""
    url = body(played.request("GET", CARD))["url"]
    key = public_keys(played)[jwt.get_unverified_header(token)["kid"]]
    needed = {"require": ["iss", "aud", "iat", "exp", "jti"]}
    claims: dict[str, Any] = jwt.decode(
        token,
        key,
        ALGORITHMS,
        audience=hook.url + "/hook",
        issuer=url,
        options=needed,  # type: ignore[arg-type]
    )
    return claims


@pytest.mark.parametrize("key", [EC, RSA, ED], ids=["EC", "RSA", "Ed25519"])
def test_a_subscriber_can_check_whose_notification_it_is_and_of_what(key: Any) -> None:
    with (
        RawHttpServer(http_response(b"")) as hook,
        stage(pem(key), push_signed="true", fetch_loopback="true") as played,
    ):
        task_id = notified(played, hook, authentication={"scheme": "Basic", "credentials": "YTpi"}, token="t0ken")
        claims = checked(played, hook, hook.header("X-A2A-Notification-Signature"))
        assert claims["taskId"] == task_id
        assert claims["exp"] - claims["iat"] == 300
        assert claims["request_body_sha256"] == hashlib.sha256(hook.bodies[-1]).hexdigest()
        assert hook.header("Authorization") == "Basic YTpi"
        assert hook.header("X-A2A-Notification-Token") == "t0ken"
        tokens = [line for head in hook.heads for line in head.splitlines() if line.startswith("X-A2A-Notification-S")]
        assert len(set(tokens)) == len(hook.bodies)


@pytest.mark.parametrize(("scheme", "bearer"), [("Bearer", True), ("bearer", True), ("", False), ("Basic", False)])
def test_a_subscriber_who_asks_for_a_bearer_token_gets_the_signed_one(scheme: str, bearer: bool) -> None:
    asked = {"authentication": {"scheme": scheme}} if scheme else {}
    with RawHttpServer(http_response(b"")) as hook, stage(push_signed="true", fetch_loopback="true") as played:
        notified(played, hook, **asked)
        token = hook.header("X-A2A-Notification-Signature")
        checked(played, hook, token)
        assert hook.header("Authorization") == (f"Bearer {token}" if bearer else "")


def test_a_subscriber_s_own_bearer_token_is_left_alone() -> None:
    own = {"scheme": "Bearer", "credentials": "s3cret"}
    with RawHttpServer(http_response(b"")) as hook, stage(push_signed="true", fetch_loopback="true") as played:
        notified(played, hook, authentication=own)
        assert hook.header("Authorization") == "Bearer s3cret"
        checked(played, hook, hook.header("X-A2A-Notification-Signature"))


def test_a_subscriber_who_comes_later_by_another_name_gets_that_as_the_issuer() -> None:
    with RawHttpServer(http_response(b"")) as hook, stage(push_signed="true", fetch_loopback="true") as played:
        task = played.send("Hi!", wait=False)
        params = {"taskId": task["id"], "url": hook.url + "/hook"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig", "params": params}
        headers = {
            "Content-Type": "application/json",
            "A2A-Version": "1.0",
            "Authorization": "Bearer alice-0123456789abcdef",
        }
        event = rest_event("POST", "/", json.dumps(call), headers, domain="agents.example.com")
        assert "result" in body(played.handler(event, LocalLambdaContext(30)))
        deliver(played)
        token = hook.header("X-A2A-Notification-Signature")
        assert jwt.decode(token, options={"verify_signature": False})["iss"] == "https://agents.example.com"


def test_where_pushes_are_not_to_be_signed_none_is() -> None:
    with RawHttpServer(http_response(b"")) as hook, stage(fetch_loopback="true") as played:
        notified(played, hook)
        assert hook.header("X-A2A-Notification-Signature") == ""


def test_a_notification_that_cannot_be_signed_is_not_sent_and_comes_later() -> None:
    settings = {"push_signed": "true", "fetch_loopback": "true", "signing_key": ""}
    with RawHttpServer(http_response(b"")) as hook, stage(signing_secret="to be made", **settings) as played:
        arn = tell(played, "swordfish")
        said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi!"}]}
        configuration = {"taskPushNotificationConfig": {"url": hook.url + "/hook"}}
        task = played.rpc("SendMessage", {"message": said, "configuration": configuration})["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        deliver(played)
        assert hook.bodies == []
        aws_client("secretsmanager").put_secret_value(SecretId=arn, SecretString=pem(EC))
        deliver(played)
        checked(played, hook, hook.header("X-A2A-Notification-Signature"))
