"""AGENTFN_AUTH=iam: callers sign requests with AWS credentials. API Gateway verifies the signature."""

from collections.abc import Mapping
from typing import Any

from agentfn.auth.authenticator import EMPTY_CONTEXT, REALM, AuthScheme
from agentfn.auth.identity import Principal, principal_id
from agentfn.telemetry import logger

INSTRUCTIONS = (
    "API Gateway did not say who signed this request. Sign it with AWS Signature Version 4 for the service "
    "execute-api; and the API must use the authorizer AWS_IAM on this method (infra/agent.yaml: AuthMode=iam)."
)


class IamAuthenticator:
    """Reads the caller's ARN from the event. Each IAM user and each IAM role is one principal.

    With `include_sessions`, each session name of a role is a principal of its own. Anyone who may assume the role can
    choose the session name, unless the role's trust policy restricts it.
    """

    scheme = AuthScheme("iam", f"AWS4-HMAC-SHA256 {REALM}", INSTRUCTIONS)

    def __init__(self, *, include_sessions: bool = False) -> None:
        self._include_sessions = include_sessions

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """Returns the caller whose signature API Gateway verified, or None. Headers are ignored."""
        arn = _verified_arn(request_context)
        if arn is None:
            logger.warning("the event has no verified ARN; check that the API uses the authorizer AWS_IAM")
            return None
        identity = arn if self._include_sessions else _strip_session(arn)
        return Principal(principal_id(identity, prefix=identity.split("/", 1)[-1]))


def _verified_arn(context: Mapping[str, Any]) -> str | None:
    """Returns `authorizer.iam.userArn` of payload 2.0 (HTTP APIs, function URLs), else `identity.userArn`.

    Only payload 2.0 has `http`. The other payload's field must not be read: a client may be able to set it.
    """
    path = ("authorizer", "iam", "userArn") if "http" in context else ("identity", "userArn")
    found: Any = context
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found.startswith("arn:") else None


def _strip_session(arn: str) -> str:
    """Removes the session from `arn:aws:sts::1:assumed-role/Role/session`.

    The role's name has no slash here: this kind of ARN leaves the role's path out.
    """
    service, _, resource = arn.partition(":assumed-role/")
    return f"{service}:assumed-role/{resource.split('/', 1)[0]}" if resource else arn
