"""AGENTFN_AUTH=jwt: callers send JSON Web Tokens that an OpenID Connect provider issued."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentfn.auth.authenticator import EMPTY_CONTEXT, REALM, AuthenticationError, AuthScheme, bearer_token
from agentfn.auth.identity import Principal, principal_id
from agentfn.auth.jwks import ALGORITHMS, JwksClient
from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

LEEWAY_SECONDS = 60.0  # allowed difference between the issuer's clock and this one
MISSING_PACKAGES = (
    "AGENTFN_AUTH is jwt, which needs the packages of agentfn's extra `jwt` (pyjwt and cryptography): add them to the "
    "agent's requirements.txt, or `pip install 'agentfn[jwt]'`"
)
INSTRUCTIONS = "This agent needs a token of {issuer} for {audience}: send it as `Authorization: Bearer <token>`."


@dataclass(frozen=True)
class JwtRequirements:
    """What a token must claim. `claim` names the claim that identifies the caller; all `scopes` are needed."""

    issuer: str
    audience: str
    claim: str = "sub"
    scopes: tuple[str, ...] = ()


class JwtAuthenticator:
    """Verifies tokens with the issuer's keys. `discovery_url` is for the agent card; empty if the issuer has none.

    Raises ConfigurationError if the packages of the extra `jwt` are missing.
    """

    def __init__(self, requirements: JwtRequirements, jwks: JwksClient, discovery_url: str = "") -> None:
        _check_packages()
        self._requirements = requirements
        self._jwks = jwks
        instructions = INSTRUCTIONS.format(issuer=requirements.issuer, audience=requirements.audience)
        self.scheme = AuthScheme("jwt", f"Bearer {REALM}", instructions, discovery_url, requirements.scopes)

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """Returns the caller of a valid token; None without a token. Raises AuthenticationError for an invalid one."""
        token = bearer_token(headers)
        if token is None:
            return None
        claims = await self._verify(token)
        if not set(self._requirements.scopes) <= _token_scopes(claims):
            raise _authentication_error(
                "it lacks a scope", "insufficient_scope", 403, " ".join(self._requirements.scopes)
            )
        identity = claims.get(self._requirements.claim)
        if not isinstance(identity, str) or not identity:
            raise _authentication_error(f"it names nobody in its claim {self._requirements.claim}")
        return Principal(principal_id(identity))

    async def _verify(self, token: str) -> dict[str, Any]:
        """Verifies a token and returns its claims."""
        import jwt

        algorithm, key_id = _read_header(token)
        key = await self._jwks.find_key(key_id, algorithm)
        if key is None:
            raise _authentication_error("its key is not one of the issuer's")
        try:
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                issuer=self._requirements.issuer,
                audience=self._requirements.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            raise _authentication_error(_describe_error(error)) from None


def _check_packages() -> None:
    try:
        from jwt.algorithms import has_crypto
    except ImportError:
        has_crypto = False
    if not has_crypto:
        raise ConfigurationError(MISSING_PACKAGES)


def _read_header(token: str) -> tuple[str, str | None]:
    """Returns algorithm and key id. The header is not verified yet: it only selects among allowed algorithms."""
    import jwt

    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise _authentication_error("it is no JSON Web Token") from None
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS or not isinstance(key_id, str | None):
        raise _authentication_error(f"it is not signed with {', '.join(ALGORITHMS)}")
    return algorithm, key_id


def _describe_error(error: Exception) -> str:
    """Describes PyJWT's error without its text, which may quote the token and would go into a header."""
    import jwt

    reasons = {
        jwt.ExpiredSignatureError: "it has expired",
        jwt.ImmatureSignatureError: "it does not hold yet",
        jwt.InvalidAudienceError: "it is for another audience",
        jwt.InvalidIssuerError: "it is of another issuer",
        jwt.MissingRequiredClaimError: "it lacks a claim of exp, iss, aud",
    }
    return next((text for kind, text in reasons.items() if isinstance(error, kind)), "it cannot be trusted")


def _token_scopes(claims: Mapping[str, Any]) -> set[str]:
    """Reads `scope` (RFC 9068) or `scp` (Entra, Okta): a list, or a text separated by blanks."""
    given = claims.get("scope", claims.get("scp", ""))
    return {scope for part in (given if isinstance(given, list) else [given]) for scope in str(part).split()}


def _authentication_error(
    reason: str, error: str = "invalid_token", status: int = 401, scope: str = ""
) -> AuthenticationError:
    """Creates an error with a challenge as in RFC 6750. It never quotes the token."""
    logger.info("rejected a token: %s", reason)
    required = f', scope="{scope}"' if scope else ""
    described = re.sub(r'[^ -~]|["\\]', "?", reason)
    challenge = f'Bearer {REALM}, error="{error}", error_description="{described}"{required}'
    return AuthenticationError(f"The token is refused: {reason}.", challenge, status)
