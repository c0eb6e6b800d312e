"""AGENTFN_AUTH=iam: requests signed with AWS credentials. API Gateway checks the signature, and says whose it is."""

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
    """Owners are users and roles. With `sessions`, each session name of a role is an owner of its own: whoever may
    assume a role may choose that name, unless its trust policy fixes it.
    """

    scheme = AuthScheme("iam", f"AWS4-HMAC-SHA256 {REALM}", INSTRUCTIONS)

    def __init__(self, *, include_sessions: bool = False) -> None:
        self._include_sessions = include_sessions

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """The caller whose ARN the gateway established; None where it established none. Headers do not count."""
        arn = _verified_arn(request_context)
        if arn is None:
            logger.warning("a request without a verified ARN: does the API use the authorizer AWS_IAM?")
            return None
        identity = arn if self._include_sessions else _strip_session(arn)
        return Principal(principal_id(identity, prefix=identity.split("/", 1)[-1]))


def _verified_arn(context: Mapping[str, Any]) -> str | None:
    """`requestContext.authorizer.iam.userArn` of payload 2.0 (HTTP APIs, function URLs), which alone has `http`; else
    `requestContext.identity.userArn`. What the other payload calls so may be anything.
    """
    path = ("authorizer", "iam", "userArn") if "http" in context else ("identity", "userArn")
    found: Any = context
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found.startswith("arn:") else None


def _strip_session(arn: str) -> str:
    """`arn:aws:sts::1:assumed-role/Role/session` -> the same without the session. A role's name has no slash here: its
    path is not part of this ARN.
    """
    service, _, resource = arn.partition(":assumed-role/")
    return f"{service}:assumed-role/{resource.split('/', 1)[0]}" if resource else arn
