"""How an agent authenticates its callers, and the keys that it signs with."""

import functools
from typing import TYPE_CHECKING

from agentfn.a2a.card.signing_keys import SigningKeys
from agentfn.agent import Agent
from agentfn.auth.authenticator import AnonymousAuthenticator, Authenticator
from agentfn.auth.bearer import BearerAuthenticator
from agentfn.auth.iam import IamAuthenticator
from agentfn.aws_clients import read_secret
from agentfn.settings import Settings
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from agentfn.auth.jwks import FetchUrl
    from agentfn.auth.jwt import JwtAuthenticator


def create_authenticator(agent: Agent, settings: Settings, fetch: "FetchUrl | None" = None) -> Authenticator:
    """Raises ConfigurationError where the packages for AGENTFN_AUTH=jwt are missing. `fetch` gets the issuer's keys."""
    match settings.auth.mode:
        case "none":
            logger.warning("AGENTFN_AUTH=none: agent %s accepts requests from everyone", agent.name)
            return AnonymousAuthenticator()
        case "iam":
            return IamAuthenticator(include_sessions=settings.auth.iam_sessions)
        case "jwt":
            return _create_jwt_authenticator(settings, fetch)
        case "bearer":
            if settings.auth.tokens is not None:
                return BearerAuthenticator(settings.auth.tokens.get_secret_value)
            return BearerAuthenticator(functools.partial(read_secret, settings.auth.tokens_secret_arn or ""))


def _create_jwt_authenticator(settings: Settings, fetch: "FetchUrl | None") -> "JwtAuthenticator":
    from agentfn.auth.jwks import JwksClient, discovery_document_url, fetch_https
    from agentfn.auth.jwt import JwtAuthenticator, JwtRequirements

    jwt = settings.auth.jwt
    issuer, url = jwt.issuer or "", jwt.jwks_url
    requirements = JwtRequirements(issuer, jwt.audience or "", jwt.claim, tuple(jwt.scopes.split()))
    return JwtAuthenticator(
        requirements, JwksClient(issuer, url, fetch or fetch_https), "" if url else discovery_document_url(issuer)
    )


def create_signing_keys(settings: Settings) -> SigningKeys | None:
    """What the card is signed with. Raises ConfigurationError for a key that is of no use, or without the packages."""
    if settings.signing.key is not None:
        keys = SigningKeys(settings.signing.key.get_secret_value, "AGENTFN_SIGNING_KEY")
        keys.load()
        return keys
    if settings.signing.secret_arn:
        return SigningKeys(functools.partial(read_secret, settings.signing.secret_arn), "AGENTFN_SIGNING_SECRET")
    return None
