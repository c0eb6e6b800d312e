"""Signs push notifications, so that webhooks can verify that the agent sent them."""

import hashlib
import time
from dataclasses import dataclass
from uuid import uuid4

from agentfn.a2a.card.signing_keys import SigningKeys

SIGNATURE_HEADER = "X-A2A-Notification-Signature"
SIGNATURE_LIFETIME_SECONDS = 300


@dataclass(frozen=True)
class WebhookSigner:
    """Signs push notifications, as the protocol's guide to them describes."""

    signing_keys: SigningKeys

    async def sign(self, issuer: str, audience: str, task_id: str, body: bytes) -> str:
        """Returns a JSON Web Token for one notification, which is valid for SIGNATURE_LIFETIME_SECONDS.

        `issuer` is the agent's URL, `audience` the webhook's. The token has the SHA-256 of `body`.
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
