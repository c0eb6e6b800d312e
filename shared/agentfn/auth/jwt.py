"""AGENTFN_AUTH=jwt: tokens of an OpenID Connect provider. Who signed them, and for whom, is checked here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentfn.auth.authenticator import EMPTY_CONTEXT, REALM, AuthenticationError, AuthScheme, bearer_token
from agentfn.auth.identity import Principal, principal_id
from agentfn.auth.jwks import ALGORITHMS, JwksClient
from agentfn.errors import ConfigurationError
from agentfn.telemetry import logger

LEEWAY_SECONDS = 60.0  # seconds that the issuer's clock and this one may differ
MISSING_PACKAGES = (
    "AGENTFN_AUTH is jwt, which needs the packages of agentfn's extra `jwt` (pyjwt and cryptography): add them to the "
    "agent's requirements.txt, or `pip install 'agentfn[jwt]'`"
)
INSTRUCTIONS = "This agent needs a token of {issuer} for {audience}: send it as `Authorization: Bearer <token>`."


@dataclass(frozen=True)
class JwtRequirements:
    """What a token must say. `claim` names the claim whose text is the owner; all `scopes` must be there."""

    issuer: str
    audience: str
    claim: str = "sub"
    scopes: tuple[str, ...] = ()


class JwtAuthenticator:
    """Raises ConfigurationError where the packages of the extra `jwt` are not there. `discovery` is for the card: the
    address of the issuer's discovery document, if it has one.
    """

    def __init__(self, requirements: JwtRequirements, jwks: JwksClient, discovery_url: str = "") -> None:
        _check_packages()
        self._requirements = requirements
        self._jwks = jwks
        advice = INSTRUCTIONS.format(issuer=requirements.issuer, audience=requirements.audience)
        self.scheme = AuthScheme("jwt", f"Bearer {REALM}", advice, discovery_url, requirements.scopes)

    async def authenticate(
        self, headers: Mapping[str, str], request_context: Mapping[str, Any] = EMPTY_CONTEXT
    ) -> Principal | None:
        """The owner named in a token that holds; None without a token. Raises Refused for one that does not hold."""
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
        """What a token says that is signed with a key of the issuer's, and holds now, here."""
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
    """Algorithm and key id. The header is the sender's own word: it only chooses among what is allowed here."""
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
    """In words of our own: PyJWT's may quote the token, and they go into a header."""
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
    """`scope` of RFC 9068, or `scp` as Entra and Okta call it; a list, or a text with blanks between."""
    given = claims.get("scope", claims.get("scp", ""))
    return {scope for part in (given if isinstance(given, list) else [given]) for scope in str(part).split()}


def _authentication_error(
    reason: str, error: str = "invalid_token", status: int = 401, scope: str = ""
) -> AuthenticationError:
    """As RFC 6750 has it. Nothing of the token is repeated."""
    logger.info("a token is refused: %s", reason)
    asked = f', scope="{scope}"' if scope else ""
    described = re.sub(r'[^ -~]|["\\]', "?", reason)
    challenge = f'Bearer {REALM}, error="{error}", error_description="{described}"{asked}'
    return AuthenticationError(f"The token is refused: {reason}.", challenge, status)
