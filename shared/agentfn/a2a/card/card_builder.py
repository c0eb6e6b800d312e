"""Builds the agent card from the agent's declaration and the settings."""

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol

from agentfn.agent import Agent, Skill
from agentfn.auth.authenticator import AuthScheme

DEFAULT_SKILL_TAGS = ("agent",)


def build_card(agent: Agent, scheme: AuthScheme, *, streaming: bool, push: bool, extended: bool = False) -> AgentCard:
    """Builds the card without its interfaces, whose URL depends on the request.

    `streaming` says that answers can be streamed, `push` that the agent sends push notifications. An `extended` card
    also has the skills that are not public.
    """
    skills = [skill for skill in agent.skills if extended or skill.public]
    card = AgentCard(
        name=agent.name,
        description=agent.description,
        version=agent.version,
        capabilities=AgentCapabilities(
            streaming=streaming, push_notifications=push, extended_agent_card=has_extended_card(agent, scheme)
        ),
        default_input_modes=list(agent.input_modes),
        default_output_modes=list(agent.output_modes),
        skills=[_skill(skill) for skill in skills or [_default_skill(agent)]],
    )
    if (security := _security_scheme(scheme)) is not None:
        card.security_schemes[scheme.name].CopyFrom(security)
        scopes = StringList(list=scheme.scopes)
        card.security_requirements.append(SecurityRequirement(schemes={scheme.name: scopes}))
    return card


def has_extended_card(agent: Agent, scheme: AuthScheme) -> bool:
    """Returns whether authenticated callers see more skills than others. With AGENTFN_AUTH=none, nobody does."""
    return scheme.name != "none" and any(not skill.public for skill in agent.skills)


def with_interfaces(card: AgentCard, url: str) -> AgentCard:
    """Returns a copy of the card with one interface for each binding and protocol version at `url`."""
    copy = AgentCard()
    copy.CopyFrom(card)
    for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON):
        for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3):
            interface = AgentInterface(url=url, protocol_binding=binding.value, protocol_version=version)
            copy.supported_interfaces.append(interface)
    return copy


def _security_scheme(scheme: AuthScheme) -> SecurityScheme | None:
    """Converts the scheme to the protocol's type; None if everyone may call."""
    match scheme.name:
        case "bearer":
            bearer = HTTPAuthSecurityScheme(scheme="bearer", description="A token that the agent's operator gives out.")
            return SecurityScheme(http_auth_security_scheme=bearer)
        case "jwt" if scheme.discovery_url:  # it also tells a client where to get a token
            oidc = OpenIdConnectSecurityScheme(
                open_id_connect_url=scheme.discovery_url, description=scheme.instructions
            )
            return SecurityScheme(open_id_connect_security_scheme=oidc)
        case "jwt":
            signed = HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT", description=scheme.instructions)
            return SecurityScheme(http_auth_security_scheme=signed)
        case "iam":
            # The protocol has no type for AWS signatures. API Gateway's own exports say "API key in Authorization": a
            # client would send a fixed text. HTTPAuth with the scheme's name is right for HTTP: IANA does not list the
            # name, so a client that does not know it stops here.
            aws = HTTPAuthSecurityScheme(
                scheme="AWS4-HMAC-SHA256", description="AWS Signature Version 4, for the service execute-api."
            )
            return SecurityScheme(http_auth_security_scheme=aws)
    return None


def _skill(skill: Skill) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=list(skill.tags or DEFAULT_SKILL_TAGS),
        examples=list(skill.examples),
    )


def _default_skill(agent: Agent) -> Skill:
    """Returns a skill made of the agent's description: a card must have at least one skill."""
    return Skill(id=agent.name, name=agent.name, description=agent.description)
