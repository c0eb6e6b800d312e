"""Signs the agent card."""

from a2a.types import AgentCard

from agentfn.a2a.card.signing_keys import SigningKey

JWKS_PATH = "/.well-known/jwks.json"


def sign_card(card: AgentCard, key: SigningKey, url: str) -> AgentCard:
    """Returns a copy with a signature over the canonical form (RFC 8785) of the card's 1.0 layout: protocol, 8.4.

    `url` is the agent's. The signature's header names the URL of the public keys there.
    """
    from a2a.utils.signing import ProtectedHeader, create_agent_card_signer

    header = ProtectedHeader(alg=key.algorithm, kid=key.id, typ="JOSE", jku=url + JWKS_PATH)
    copy = AgentCard()
    copy.CopyFrom(card)
    return create_agent_card_signer(key.private_key, header)(copy)
