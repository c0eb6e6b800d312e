"""The front door: where the agent is, however API Gateway was set up in front of it."""

import base64
import json
from typing import Any

import pytest

from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, http_event, rest_event
from agentfn.testing.stage import auth_headers

CARD = "/.well-known/agent-card.json"
DOMAIN = "abc.execute-api.eu-west-1.amazonaws.com"


def call(stage: Stage, event: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = stage.handler(event, LocalLambdaContext(30))
    return answer


def urls(card: dict[str, Any]) -> set[str]:
    return {interface["url"] for interface in card["supportedInterfaces"]} | {card["url"]}


def ping(answer: dict[str, Any]) -> Any:
    assert answer["statusCode"] == 200
    return json.loads(answer["body"])


UNKNOWN_TASK = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}})
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0", **auth_headers("alice")}


def test_a_rest_api_s_stage_is_in_every_url_of_the_card(play: Any) -> None:
    stage = play(ScriptedModel())
    answer = call(stage, rest_event("GET", CARD, stage="prod", domain=DOMAIN))
    assert urls(ping(answer)) == {f"https://{DOMAIN}/prod"}


@pytest.mark.parametrize(("name", "prefix"), [("prod", "/prod"), ("$default", "")])
def test_an_http_api_s_stage_is_in_the_path_and_in_the_urls(play: Any, name: str, prefix: str) -> None:
    stage = play(ScriptedModel())
    answer = call(stage, http_event("GET", CARD, stage=name, domain=DOMAIN))
    assert urls(ping(answer)) == {f"https://{DOMAIN}{prefix}"}
    posted = call(stage, http_event("POST", "/", UNKNOWN_TASK, JSON, stage=name, domain=DOMAIN))
    assert ping(posted)["error"]["code"] == -32001


def test_a_custom_domain_with_a_base_path_is_the_agent_s_address(play: Any) -> None:
    stage = play(ScriptedModel(), base_path="/agents/pdf")
    card = ping(call(stage, rest_event("GET", f"/agents/pdf{CARD}", domain="api.example.com")))
    assert urls(card) == {"https://api.example.com/agents/pdf"}


def test_a_configured_public_url_is_used_as_it_is(play: Any) -> None:
    stage = play(ScriptedModel(), public_url="https://agents.example.com/pdf")
    assert urls(ping(call(stage, rest_event("GET", CARD)))) == {"https://agents.example.com/pdf"}


@pytest.mark.parametrize("path", ["/agents/pdf", "/agents/pdf/"])
def test_a_post_to_the_card_s_url_works_with_and_without_trailing_slash(play: Any, path: str) -> None:
    stage = play(ScriptedModel(), base_path="agents/pdf/")
    answer = call(stage, rest_event("POST", path, UNKNOWN_TASK, JSON, domain="api.example.com"))
    assert ping(answer)["error"]["code"] == -32001


def test_the_card_is_at_both_well_known_names_and_can_be_revalidated(play: Any) -> None:
    stage = play(ScriptedModel())
    first = stage.request("GET", CARD)
    second = stage.request("GET", "/.well-known/agent.json")
    assert ping(first) == ping(second)
    again = stage.request("GET", CARD, headers={"If-None-Match": first["headers"]["etag"]})
    assert again["statusCode"] == 304


def test_the_card_says_what_is_wired_and_no_more(play: Any) -> None:
    card = ping(play(ScriptedModel()).request("GET", CARD))
    assert card["capabilities"] == {"streaming": False, "pushNotifications": True, "extendedAgentCard": False}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {}}}]
    assert card["preferredTransport"] == "JSONRPC"
    assert {(i["protocolBinding"], i["protocolVersion"]) for i in card["supportedInterfaces"]} == {
        ("JSONRPC", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "1.0"),
        ("HTTP+JSON", "0.3"),
    }


@pytest.mark.parametrize("make", [rest_event, http_event])
def test_a_base64_body_is_the_same_as_a_plain_one(play: Any, make: Any) -> None:
    stage = play(ScriptedModel())
    plain = ping(call(stage, make("POST", "/", UNKNOWN_TASK, JSON)))
    encoded = ping(call(stage, make("POST", "/", UNKNOWN_TASK.encode(), JSON)))
    assert plain == encoded


@pytest.mark.parametrize("make", [rest_event, http_event])
@pytest.mark.parametrize("body", ["no base64 at all!", base64.b64encode(b"\xff\xfe{").decode()])
def test_a_body_that_is_flagged_base64_and_is_not_is_a_parse_error(play: Any, make: Any, body: str) -> None:
    event = make("POST", "/", body, JSON) | {"isBase64Encoded": True}
    assert ping(call(play(ScriptedModel()), event))["error"]["code"] == -32700


def test_vendor_json_leaves_as_text(play: Any) -> None:
    stage = play(ScriptedModel())
    answer = stage.request("GET", "/tasks/none", caller="alice", headers={"A2A-Version": "1.0"})
    assert answer["statusCode"] == 404
    assert "json" in answer["headers"]["content-type"]
    assert answer["isBase64Encoded"] is False
    sent = json.dumps({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": ""}]}})
    refused = stage.request("POST", "/message:send", caller="alice", body=sent, headers={"A2A-Version": "1.0"})
    assert refused["isBase64Encoded"] is False


@pytest.mark.parametrize("media_type", ["application/a2a+json", "application/problem+json"])
def test_vendor_json_is_text_whatever_route_gives_it(play: Any, media_type: str) -> None:
    from mangum.handlers.utils import handle_base64_response_body

    from agentfn.event_sources.api_gateway import A2A_JSON_TYPES

    body, encoded = handle_base64_response_body(b"{}", {"content-type": media_type}, A2A_JSON_TYPES)
    assert (body, encoded) == ("{}", False)


def test_without_the_token_nothing_but_the_card_and_health_is_open(play: Any) -> None:
    stage = play(ScriptedModel())
    for method, path in [("POST", "/"), ("GET", "/tasks"), ("POST", "/message:send"), ("GET", "/elsewhere")]:
        answer = stage.request(method, path, body="{}" if method == "POST" else None)
        assert answer["statusCode"] == 401, path
        assert answer["headers"]["www-authenticate"].startswith("Bearer")
    for headers in [{"Authorization": "Bearer wrong"}, {"Authorization": "Basic YWxpY2U6eA=="}, {"Authorization": ""}]:
        assert stage.request("POST", "/", body="{}", headers=headers)["statusCode"] == 401
    stage.aws_calls.clear()
    assert stage.request("GET", "/health")["statusCode"] == 200
    assert stage.request("GET", "/healthz")["statusCode"] == 200
    assert not stage.aws_calls


def test_an_event_of_no_door_is_refused_by_its_keys(play: Any) -> None:
    with pytest.raises(ValueError, match=r"neither an API Gateway request nor .*detail"):
        call(play(ScriptedModel()), {"source": "aws.events", "detail": {}})


HELD = {"jwt_issuer": "https://id.example.com", "jwt_audience": "clerk", "auth": "jwt"}
DISCOVERY = "https://id.example.com/.well-known/openid-configuration"
ARN = "arn:aws:sts::123456789012:assumed-role/Reader/monday"
FORGED = {"X-Amzn-Oidc-Identity": "alice", "X-Forwarded-User": "alice", "UserArn": ARN, "X-Amzn-Iam-User-Arn": ARN}


@pytest.mark.parametrize(
    ("settings", "name", "old", "scopes"),
    [
        ({"auth": "bearer"}, "bearer", {"type": "http", "scheme": "bearer"}, []),
        ({"auth": "iam"}, "iam", {"type": "http", "scheme": "AWS4-HMAC-SHA256"}, []),
        ({**HELD, "jwt_scopes": "a b"}, "jwt", {"type": "openIdConnect", "openIdConnectUrl": DISCOVERY}, ["a", "b"]),
        (
            {**HELD, "jwt_jwks_url": "https://id.example.com/keys"},
            "jwt",
            {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            [],
        ),
    ],
)
def test_the_card_says_in_both_layouts_how_callers_prove_who_they_are(
    play: Any, settings: dict[str, str], name: str, old: dict[str, str], scopes: list[str]
) -> None:
    card = ping(play(ScriptedModel(), **settings).request("GET", CARD))
    assert list(card["securitySchemes"]) == [name]
    scheme = card["securitySchemes"][name]
    assert old.items() <= scheme.items()
    kind = "openIdConnectSecurityScheme" if old["type"] == "openIdConnect" else "httpAuthSecurityScheme"
    assert {key: value for key, value in old.items() if key != "type"}.items() <= scheme[kind].items()
    assert card["security"] == [{name: scopes}]
    assert card["securityRequirements"] == [{"schemes": {name: {"list": scopes} if scopes else {}}}]


def test_an_open_agent_s_card_asks_for_nothing_and_everyone_is_one_caller(play: Any) -> None:
    stage = play(ScriptedModel("Hello."), auth="none")
    assert not {"security", "securitySchemes", "securityRequirements"} & set(ping(stage.request("GET", CARD)))
    task = stage.send("Hi!", caller="alice")
    answer = stage.request("GET", f"/tasks/{task['id']}", headers={"A2A-Version": "1.0", **FORGED})
    assert ping(answer)["id"] == task["id"]


@pytest.mark.parametrize("settings", [{"auth": "bearer"}, {"auth": "iam"}, HELD])
def test_no_header_of_a_client_s_says_who_he_is(play: Any, settings: dict[str, str]) -> None:
    stage = play(ScriptedModel(), **settings)
    for make in (rest_event, http_event):
        answer = call(stage, make("POST", "/", UNKNOWN_TASK, {"Content-Type": "application/json", **FORGED}))
        assert answer["statusCode"] == 401
    assert not stage.aws_calls


def test_what_the_gateway_says_of_a_signature_counts_for_iam_alone(play: Any) -> None:
    stage = play(ScriptedModel("Hello."))
    task = stage.send("Hi!", caller="alice")
    event = rest_event("GET", f"/tasks/{task['id']}", headers={"A2A-Version": "1.0", **auth_headers("bob"), **FORGED})
    event["requestContext"]["identity"]["userArn"] = ARN
    assert call(stage, event)["statusCode"] == 404


def signed(make: Any, arn: str, method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """A request whose signature the API checked, as it says so in the event."""
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0", **FORGED}
    event: dict[str, Any] = make(method, path, body, headers)
    context = event["requestContext"]
    if make is rest_event:
        context["identity"]["userArn"] = arn
    else:
        context["authorizer"] = {"iam": {"userArn": arn}}
    return event


def test_a_task_belongs_to_the_role_that_signed_for_it_by_whatever_kind_of_api(play: Any) -> None:
    stage = play(ScriptedModel("Hello."), auth="iam")
    said = json.dumps({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi!"}]}})
    task = ping(call(stage, signed(rest_event, ARN, "POST", "/message:send", said)))["task"]
    read = f"/tasks/{task['id']}"
    assert ping(call(stage, signed(http_event, ARN.replace("monday", "tuesday"), "GET", read)))["id"] == task["id"]
    assert call(stage, signed(rest_event, ARN.replace("Reader", "Writer"), "GET", read))["statusCode"] == 404


def test_an_unsigned_request_is_told_that_the_api_must_use_iam(play: Any) -> None:
    answer = play(ScriptedModel(), auth="iam").request("GET", "/tasks", caller="alice", headers=FORGED)
    assert answer["statusCode"] == 401
    assert answer["headers"]["www-authenticate"] == 'AWS4-HMAC-SHA256 realm="agentfn"'
    assert "AWS_IAM" in json.loads(answer["body"])["error"]


def test_a_token_that_is_none_is_refused_with_the_reason_and_none_at_all_without(play: Any) -> None:
    stage = play(ScriptedModel(), **HELD)
    absent = stage.request("GET", "/tasks")
    assert (absent["statusCode"], absent["headers"]["www-authenticate"]) == (401, 'Bearer realm="agentfn"')
    wrong = stage.request("GET", "/tasks", caller="alice")
    assert wrong["statusCode"] == 401
    assert 'error="invalid_token"' in wrong["headers"]["www-authenticate"]
    assert "no JSON Web Token" in json.loads(wrong["body"])["error"]
