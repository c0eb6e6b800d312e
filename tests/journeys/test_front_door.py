"""The front door: where the agent is, however API Gateway was set up in front of it."""

import base64
import json
from typing import Any

import pytest

from agentfn.testing import LambdaContext, ScriptedModel, Stage, http_event, rest_event
from agentfn.testing.stage import headers_of

CARD = "/.well-known/agent-card.json"
DOMAIN = "abc.execute-api.eu-west-1.amazonaws.com"


def call(stage: Stage, event: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = stage.handler(event, LambdaContext(30))
    return answer


def urls(card: dict[str, Any]) -> set[str]:
    return {interface["url"] for interface in card["supportedInterfaces"]} | {card["url"]}


def ping(answer: dict[str, Any]) -> Any:
    assert answer["statusCode"] == 200
    return json.loads(answer["body"])


UNKNOWN_TASK = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}})
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0", **headers_of("alice")}


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
    assert card["capabilities"] == {"streaming": False, "pushNotifications": False, "extendedAgentCard": False}
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

    from agentfn.handler import JSON_TYPES

    body, encoded = handle_base64_response_body(b"{}", {"content-type": media_type}, JSON_TYPES)
    assert (body, encoded) == ("{}", False)


def test_without_the_token_nothing_but_the_card_and_health_is_open(play: Any) -> None:
    stage = play(ScriptedModel())
    for method, path in [("POST", "/"), ("GET", "/tasks"), ("POST", "/message:send"), ("GET", "/elsewhere")]:
        answer = stage.request(method, path, body="{}" if method == "POST" else None)
        assert answer["statusCode"] == 401, path
        assert answer["headers"]["www-authenticate"].startswith("Bearer")
    for headers in [{"Authorization": "Bearer wrong"}, {"Authorization": "Basic YWxpY2U6eA=="}, {"Authorization": ""}]:
        assert stage.request("POST", "/", body="{}", headers=headers)["statusCode"] == 401
    stage.calls.clear()
    assert stage.request("GET", "/health")["statusCode"] == 200
    assert stage.request("GET", "/healthz")["statusCode"] == 200
    assert not stage.calls


def test_an_event_of_no_door_is_refused_by_its_keys(play: Any) -> None:
    with pytest.raises(ValueError, match=r"neither an API Gateway request nor .*detail"):
        call(play(ScriptedModel()), {"source": "aws.events", "detail": {}})
