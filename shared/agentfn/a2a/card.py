"""The agent's card: what it is, what it can, how it is reached. It says only what is wired."""

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import PROTOCOL_VERSION_0_3, PROTOCOL_VERSION_1_0, TransportProtocol

from agentfn.agent import Agent, Skill

DEFAULT_SKILL_TAGS = ("agent",)


def build_card(agent: Agent, scheme: str, *, streaming: bool, push: bool) -> AgentCard:
    """The card without its interfaces, whose address depends on the request.

    `scheme` is how callers prove who they are, `streaming` whether the front door can stream, `push` whether it
    sends push notifications.
    """
    card = AgentCard(
        name=agent.name,
        description=agent.description,
        version=agent.version,
        capabilities=AgentCapabilities(streaming=streaming, push_notifications=push, extended_agent_card=False),
        default_input_modes=list(agent.input_modes),
        default_output_modes=list(agent.output_modes),
        skills=[_skill(skill) for skill in agent.skills or [_only_skill(agent)]],
    )
    if scheme == "bearer":
        bearer = HTTPAuthSecurityScheme(scheme="bearer", description="A token that the agent's operator gives out.")
        card.security_schemes["bearer"].CopyFrom(SecurityScheme(http_auth_security_scheme=bearer))
        card.security_requirements.append(SecurityRequirement(schemes={"bearer": StringList(list=[])}))
    return card


def card_at(card: AgentCard, url: str) -> AgentCard:
    """The card as it is to be read by whoever came by `url`, the agent's public address."""
    placed = AgentCard()
    placed.CopyFrom(card)
    for binding in (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON):
        for version in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3):
            interface = AgentInterface(url=url, protocol_binding=binding.value, protocol_version=version)
            placed.supported_interfaces.append(interface)
    return placed


def _skill(skill: Skill) -> AgentSkill:
    return AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        tags=list(skill.tags or DEFAULT_SKILL_TAGS),
        examples=list(skill.examples),
    )


def _only_skill(agent: Agent) -> Skill:
    """A card must name a skill; an agent that declares none is good at what it is described as."""
    return Skill(id=agent.name, name=agent.name, description=agent.description)
