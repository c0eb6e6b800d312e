"""Web pages of other origins: none may call, unless an operator names them."""

import json
from typing import Any

import pytest

from agentfn import Agent, ConfigurationError
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, http_event, rest_event
from agentfn.testing.stage import auth_headers

PAGE, OTHER = "https://app.example.com", "https://evil.example.com"
CARD = "/.well-known/agent-card.json"
PATHS = ("/", "/message:send", "/message:stream", "/tasks/one", "/tasks/one:cancel", "/extendedAgentCard", CARD)
ASKED = "authorization,content-type,a2a-version"
UNKNOWN_TASK = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}})


def stage(**settings: Any) -> Stage:
    return Stage(Agent(name="clerk", description="A clerk."), ScriptedModel("Done."), **settings)


def preflight(stage: Stage, path: str, origin: str = PAGE, method: str = "POST", make: Any = rest_event) -> Any:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": ASKED,
    }
    return stage.handler(make("OPTIONS", path, headers=headers), LocalLambdaContext(30))


def cors(answer: Any) -> dict[str, str]:
    start = "access-control-"
    return {name.removeprefix(start): value for name, value in answer["headers"].items() if name.startswith(start)}


@pytest.mark.parametrize("make", [rest_event, http_event])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_that_is_named_may_ask_for_everything_without_a_token(path: str, make: Any) -> None:
    with stage(cors_origins=f"https://first.example.com, {PAGE}") as played:
        answer = preflight(played, path, make=make)
        assert not played.aws_calls
    assert answer["statusCode"] == 200
    told = cors(answer)
    assert told["allow-origin"] == PAGE
    assert told["allow-headers"] == ASKED
    assert {"GET", "POST", "DELETE"} <= set(told["allow-methods"].split(", "))
    assert "allow-credentials" not in told
    assert "Origin" in answer["headers"]["vary"]


@pytest.mark.parametrize("origin", [OTHER, "https://app.example.com.evil.example", "http://app.example.com", "null"])
def test_a_page_that_is_not_named_is_refused(origin: str) -> None:
    with stage(cors_origins=PAGE) as played:
        answer = preflight(played, "/", origin)
        assert (answer["statusCode"], cors(answer).get("allow-origin")) == (400, None)
        simple = played.request("GET", CARD, headers={"Origin": origin})
        assert (simple["statusCode"], cors(simple).get("allow-origin")) == (200, None)
        assert "Origin" in simple["headers"]["vary"]


def test_a_method_that_no_door_needs_is_refused() -> None:
    with stage(cors_origins=PAGE) as played:
        assert preflight(played, "/", method="PATCH")["statusCode"] == 400


def test_a_page_can_read_answers_and_what_errors_say() -> None:
    headers = {"Origin": PAGE, "Content-Type": "application/json", "A2A-Version": "1.0"}
    with stage(cors_origins=PAGE, max_body_size=1000) as played:
        asked = [
            (200, played.request("GET", CARD, headers=headers)),
            (200, played.request("POST", "/", caller="alice", body=UNKNOWN_TASK, headers=headers)),
            (401, played.request("POST", "/", body=UNKNOWN_TASK, headers=headers)),
            (404, played.request("GET", "/tasks/none", caller="alice", headers=headers)),
            (413, played.request("POST", "/message:send", caller="alice", body="x" * 2000, headers=headers)),
        ]
    for status, answer in asked:
        assert answer["statusCode"] == status
        assert cors(answer)["allow-origin"] == PAGE
        assert {"WWW-Authenticate", "ETag"} <= set(cors(answer)["expose-headers"].split(", "))


def test_an_error_of_ours_can_be_read_too() -> None:
    """Where the secret with the callers' tokens cannot be read, the answer is 503, and it says so to a page."""
    with stage(cors_origins=PAGE, tokens="", tokens_secret="arn:of:none") as played:
        answer = played.request("GET", "/tasks", caller="alice", headers={"Origin": PAGE})
    assert (answer["statusCode"], cors(answer)["allow-origin"]) == (503, PAGE)


def test_a_wildcard_lets_every_page_in_without_credentials() -> None:
    with stage(cors_origins="*") as played:
        for answer in (preflight(played, "/", OTHER), played.request("GET", CARD, headers={"Origin": OTHER})):
            assert (answer["statusCode"], cors(answer)["allow-origin"]) == (200, "*")
            assert "allow-credentials" not in cors(answer)


def test_credentials_are_allowed_to_pages_by_name_and_never_to_all() -> None:
    with stage(cors_origins=PAGE, cors_credentials="true") as played:
        for answer in (preflight(played, "/"), played.request("GET", CARD, headers={"Origin": PAGE})):
            assert cors(answer)["allow-origin"] == PAGE
            assert cors(answer)["allow-credentials"] == "true"
        assert "allow-origin" not in cors(preflight(played, "/", OTHER))
    with (
        pytest.raises(ConfigurationError, match="AGENTFN_CORS_CREDENTIALS"),
        stage(cors_origins="*", cors_credentials="true"),
    ):
        raise AssertionError("it starts")


@pytest.mark.parametrize("path", PATHS)
def test_without_the_setting_no_page_is_answered_and_options_is_no_failure(path: str) -> None:
    with stage() as played:
        stranger = preflight(played, path)
        assert (stranger["statusCode"], cors(stranger)) == (401, {})
        known = played.request("OPTIONS", path, caller="alice", headers={"Origin": PAGE})
        assert known["statusCode"] in (404, 405)
        assert cors(known) == {}
        assert cors(played.request("GET", CARD, headers={"Origin": PAGE})) == {}


def test_a_page_sends_its_message_after_the_preflight() -> None:
    said = json.dumps({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi!"}]}})
    headers = {"Origin": PAGE, "Content-Type": "application/json", "A2A-Version": "1.0", **auth_headers("alice")}
    with stage(cors_origins=PAGE) as played:
        assert preflight(played, "/message:send")["statusCode"] == 200
        answer = played.handler(rest_event("POST", "/message:send", said, headers), LocalLambdaContext(30))
    assert json.loads(answer["body"])["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert cors(answer)["allow-origin"] == PAGE
