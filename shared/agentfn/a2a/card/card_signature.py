"""What the agent signs: its card, and what it tells webhooks."""

import hashlib
import time
from dataclasses import dataclass
from uuid import uuid4

from a2a.types import AgentCard

from agentfn.a2a.card.signing_keys import SigningKey, SigningKeys

JWKS_PATH = "/.well-known/jwks.json"
SIGNATURE_HEADER = "X-A2A-Notification-Signature"
SIGNATURE_LIFETIME_SECONDS = 300


def sign_card(card: AgentCard, key: SigningKey, url: str) -> AgentCard:
    """A copy with a signature, as the protocol has it (8.4): over the canonical form of its 1.0 layout (RFC 8785)."""
    from a2a.utils.signing import ProtectedHeader, create_agent_card_signer

    header = ProtectedHeader(alg=key.algorithm, kid=key.id, typ="JOSE", jku=url + JWKS_PATH)
    copy = AgentCard()
    copy.CopyFrom(card)
    return create_agent_card_signer(key.private_key, header)(copy)


@dataclass(frozen=True)
class WebhookSigner:
    """Signs notifications, as the protocol's guide to them has it."""

    signing_keys: SigningKeys

    async def sign(self, issuer: str, audience: str, task_id: str, body: bytes) -> str:
        """A JSON Web Token that says whose notification it is, for whom, of what task, and what its body is.

        `issuer` is the agent's URL, `audience` the webhook's. It holds for NOTICE_SECONDS.
        """
        import jwt

        key = (await self.signing_keys.current())[0]
        now = int(time.time())
        claims = {
            "iss": issuer,
            "aud": audience,
            "iat": now,
            "exp": now + SIGNATURE_LIFETIME_SECONDS,
            "jti": str(uuid4()),
            "taskId": task_id,
            "request_body_sha256": hashlib.sha256(body).hexdigest(),
        }
        return jwt.encode(claims, key.private_key, algorithm=key.algorithm, headers={"kid": key.id})
