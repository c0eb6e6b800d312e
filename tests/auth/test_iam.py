"""Who signed a request, as API Gateway says it."""

import asyncio
from typing import Any

import pytest

from agentfn.auth.iam import IamAuthenticator
from agentfn.auth.identity import PRINCIPAL_ID_PATTERN

USER = "arn:aws:iam::123456789012:user/staff/ann"
MONDAY = "arn:aws:sts::123456789012:assumed-role/Reader/monday"
TUESDAY = "arn:aws:sts::123456789012:assumed-role/Reader/tuesday"
FORGED = {
    "authorization": f"AWS4-HMAC-SHA256 Credential={USER}",
    "x-amzn-iam-user-arn": USER,
    "userarn": USER,
    "x-amz-security-token": USER,
}


def rest(arn: Any) -> dict[str, Any]:
    """The `requestContext` of a REST API."""
    return {"stage": "prod", "identity": {"userArn": arn, "sourceIp": "127.0.0.1"}}


def http(arn: Any) -> dict[str, Any]:
    """The `requestContext` of an HTTP API or a function URL."""
    return {"http": {"method": "POST"}, "authorizer": {"iam": {"userArn": arn}}}


def caller_id(context: dict[str, Any], *, sessions: bool = False, headers: dict[str, str] | None = None) -> str | None:
    caller = asyncio.run(IamAuthenticator(include_sessions=sessions).authenticate(headers or {}, context))
    return caller.user_name if caller else None


@pytest.mark.parametrize("of", [rest, http])
def test_whose_signature_it_is_the_gateway_says(of: Any) -> None:
    name = caller_id(of(USER))
    assert name is not None
    assert PRINCIPAL_ID_PATTERN.fullmatch(name)
    assert name.startswith("staff-ann-")
    assert name == caller_id(rest(USER)) == caller_id(http(USER))
    assert name != caller_id(of(USER.replace("123456789012", "210987654321")))


def test_a_role_is_one_caller_whoever_assumed_it() -> None:
    assert caller_id(rest(MONDAY)) == caller_id(http(TUESDAY))
    assert str(caller_id(rest(MONDAY))).startswith("Reader-")
    assert caller_id(rest(MONDAY)) != caller_id(rest(MONDAY.replace("Reader", "Writer")))
    assert caller_id(rest(MONDAY)) != caller_id(rest(MONDAY.replace("123456789012", "210987654321")))


def test_sessions_are_told_apart_where_that_is_asked_for() -> None:
    assert caller_id(rest(MONDAY), sessions=True) != caller_id(rest(TUESDAY), sessions=True)
    assert caller_id(rest(MONDAY), sessions=True) == caller_id(http(MONDAY), sessions=True)


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"identity": None},
        {"identity": "text"},
        {"authorizer": None, "http": {}},
        *(of(arn) for of in (rest, http) for arn in (None, "", 7, "ann", [USER])),
    ],
)
def test_without_a_verified_arn_nobody_comes_in_whatever_the_headers_say(context: dict[str, Any]) -> None:
    assert caller_id(context, headers=FORGED) is None


def test_each_kind_of_api_is_believed_in_its_own_place_only() -> None:
    assert caller_id({"http": {}, **rest(USER)}) is None
    assert caller_id({"authorizer": {"iam": {"userArn": USER}}}) is None


def test_headers_change_nothing_for_one_who_signed() -> None:
    assert caller_id(rest(MONDAY), headers=FORGED) == caller_id(rest(MONDAY))


def test_who_did_not_sign_is_told_what_the_api_needs() -> None:
    scheme = IamAuthenticator().scheme
    assert "AWS_IAM" in scheme.instructions
    assert scheme.challenge == 'AWS4-HMAC-SHA256 realm="agentfn"'
