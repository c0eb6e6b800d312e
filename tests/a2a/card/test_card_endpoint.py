"""The card: true, placed, easy to keep, and with nothing on it that is nobody's business."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from agentfn import Agent, Skill
from agentfn.testing import LocalLambdaContext, RpcError, ScriptedModel, Stage, rest_event

CARD, OLD_CARD = "/.well-known/agent-card.json", "/.well-known/agent.json"
PATHS = (CARD, OLD_CARD)
FILING = Skill("filing", "Filing", "Files things.")
AUDIT = Skill("audit", "Audit", "Looks into the books.", tags=("money",), public=False)


def clerk(*skills: Skill) -> Agent:
    return Agent(name="clerk", description="A clerk.", skills=skills)


def stage(*skills: Skill, **settings: Any) -> Stage:
    return Stage(clerk(*skills), ScriptedModel("Done."), **settings)


def get(stage: Stage, path: str = CARD, **headers: str) -> dict[str, Any]:
    return stage.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def body(answer: dict[str, Any]) -> Any:
    assert answer["statusCode"] == 200
    return json.loads(answer["body"])


def skills(card: Any) -> list[str]:
    return [skill["id"] for skill in card["skills"]]


@pytest.mark.parametrize("path", PATHS)
def test_a_card_may_be_kept_for_a_while_and_is_not_sent_twice(path: str) -> None:
    with stage() as played:
        first = get(played, path)
        tag = first["headers"]["etag"]
        assert first["headers"]["cache-control"] == "public, max-age=300"
        assert first["headers"]["content-type"] == "application/json"
        assert tag.startswith('"')
        for held in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = get(played, path, If_None_Match=held)
            assert (again["statusCode"], again["body"], again["headers"]["etag"]) == (304, "", tag)
            assert again["headers"]["cache-control"] == "public, max-age=300"
        assert get(played, path, If_None_Match='"other"')["statusCode"] == 200


def test_the_same_agent_gives_the_same_tag_in_another_process_and_a_changed_one_another() -> None:
    with stage(FILING) as played, stage(FILING) as same, stage(FILING, push="false") as other:
        tags = [get(one)["headers"]["etag"] for one in (played, same, other)]
    assert tags[0] == tags[1] != tags[2]


@pytest.mark.parametrize("path", PATHS)
def test_a_head_says_the_same_of_the_card_without_the_card(path: str) -> None:
    with stage() as played:
        whole = get(played, path)
        head = played.request("HEAD", path)
        held = played.request("HEAD", path, headers={"If-None-Match": whole["headers"]["etag"]})
    assert (head["statusCode"], head["body"], held["statusCode"]) == (200, "", 304)
    assert head["headers"] == whole["headers"]


def test_each_address_has_a_card_of_its_own_however_many_there_are() -> None:
    def card(domain: str) -> dict[str, Any]:
        answer: dict[str, Any] = played.handler(rest_event("GET", CARD, domain=domain), LocalLambdaContext(30))
        return answer

    with stage() as played:
        cards = {f"a{number}.example.com": card(f"a{number}.example.com") for number in range(40)}
        assert len({answer["headers"]["etag"] for answer in cards.values()}) == 40
        for domain, answer in cards.items():
            assert body(answer)["url"] == f"https://{domain}"
            assert card(domain) == answer


def test_nothing_of_the_deployment_is_on_any_card() -> None:
    settings = {"max_cost": "7.25", "dead_letters_url": "https://sqs.example.com/dead", "fetch_hosts": "in.example.com"}
    with stage(FILING, AUDIT, **settings) as played:
        shown = [get(played)["body"], json.dumps(played.rpc("GetExtendedAgentCard", {}))]
        private = {*played.resources.environment().values(), *settings.values(), "alice-0123456789abcdef", "arn:aws"}
        here = {value for name, value in os.environ.items() if len(value) > 12 and "." not in name}
        for text in shown:
            assert [value for value in private | here if value in text] == []
            assert "AGENTFN_" not in text


def test_skills_that_are_not_public_are_told_to_known_callers_only() -> None:
    with stage(FILING, AUDIT) as played:
        public = body(get(played))
        assert skills(public) == ["filing"]
        assert public["capabilities"]["extendedAgentCard"] is True
        assert public["supportsAuthenticatedExtendedCard"] is True
        assert "books" not in get(played)["body"]

        extended = played.rpc("GetExtendedAgentCard", {})
        assert skills(extended) == ["filing", "audit"]
        assert extended["supportedInterfaces"] == public["supportedInterfaces"]
        assert skills(body(played.request("GET", "/extendedAgentCard", caller="bob", headers={"A2A-Version": "1.0"})))
        old = played.rpc("agent/getAuthenticatedExtendedCard", None)
        assert (skills(old), old["protocolVersion"]) == (["filing", "audit"], "0.3")
        assert skills(body(played.request("GET", "/v1/card", caller="alice"))) == ["filing", "audit"]


@pytest.mark.parametrize("path", ["/extendedAgentCard", "/v1/card"])
def test_a_stranger_gets_no_extended_card(path: str) -> None:
    with stage(FILING, AUDIT) as played:
        assert get(played, path)["statusCode"] == 401


@pytest.mark.parametrize(("declared", "auth"), [((FILING,), "bearer"), ((FILING, AUDIT), "none"), ((), "bearer")])
def test_where_there_is_no_more_to_tell_the_card_says_so_and_asking_is_an_error(
    declared: tuple[Skill, ...], auth: str
) -> None:
    with stage(*declared, auth=auth) as played:
        card = body(get(played))
        assert card["capabilities"]["extendedAgentCard"] is False
        assert "supportsAuthenticatedExtendedCard" not in card
        for method, code in (("GetExtendedAgentCard", -32004), ("agent/getAuthenticatedExtendedCard", -32007)):
            with pytest.raises(RpcError, match="no extended card") as refused:
                played.rpc(method, {})
            assert refused.value.code == code
        answer = played.request("GET", "/extendedAgentCard", caller="alice", headers={"A2A-Version": "1.0"})
        assert answer["statusCode"] == 400


def test_an_agent_with_private_skills_only_is_described_in_public_as_a_whole() -> None:
    with stage(AUDIT) as played:
        assert [(skill["id"], skill["description"]) for skill in body(get(played))["skills"]] == [("clerk", "A clerk.")]


def test_health_answers_a_head_too_and_without_a_call_of_aws() -> None:
    with stage() as played:
        for path in ("/health", "/healthz"):
            assert body(get(played, path)) == {"status": "ok"}
            assert played.request("HEAD", path)["statusCode"] == 200
        assert not played.aws_calls


UNSIGNED = """
import sys
from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage

with Stage(Agent(name="clerk", description="A clerk."), ScriptedModel()) as stage:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("jwt", "cryptography")]:
        del sys.modules[name]  # moto brings them
    for method in ("GET", "HEAD"):
        assert stage.request(method, "/.well-known/agent-card.json")["statusCode"] == 200
    assert stage.request("GET", "/.well-known/jwks.json")["statusCode"] == 404
print(sorted({"jwt", "cryptography"} & sys.modules.keys()))
"""


def test_an_unsigned_card_needs_no_library_for_signatures() -> None:
    run = subprocess.run([sys.executable, "-c", UNSIGNED], capture_output=True, text=True, check=True)
    assert run.stdout.strip().endswith("[]")
