"""Which door a model is asked through."""

import importlib.util
import re
from collections.abc import Callable
from typing import Literal

from agentfn.errors import ConfigurationError
from agentfn.models.model import Model

ProviderName = Literal["openai", "bedrock", "litellm"]

PROVIDER_PACKAGES: dict[ProviderName, str] = {"openai": "openai", "bedrock": "botocore", "litellm": "litellm"}
PACKAGE_REMEDIES: dict[ProviderName, str] = {
    "openai": "add agentfn[openai] to the function's requirements, or name a model of bedrock/…",
    "bedrock": "Lambda's runtime has it; elsewhere, add agentfn[aws] to the requirements",
    "litellm": "add agentfn[litellm] to the function's requirements, or name a model of openai/… or bedrock/…",
}
# What Converse knows: an id or an ARN, which may follow a region. litellm has other routes on Bedrock.
BEDROCK_NAME = re.compile(r"(?:bedrock/)?(?:converse/)?(?:([a-z]{2}(?:-[a-z]+)+-\d)/)?(arn:.+|[^/]+)")


def create_model_factory(
    name: str,
    *,
    provider: Literal["auto"] | ProviderName = "auto",
    api_key: Callable[[], str | None],
    base_url: str | None,
) -> Callable[[], Model]:
    """What makes the model of this name. `base` is the address of a server other than the provider's own.

    Raises ConfigurationError where no door knows such a name, or the package of the one that does is not installed.
    Nothing is imported before the model is made.
    """
    chosen = provider_for(name, base_url) if provider == "auto" else provider
    if fault := _name_fault(name, chosen, base_url):
        raise ConfigurationError(fault)
    package = PROVIDER_PACKAGES[chosen]
    if not _is_installed(package):
        raise ConfigurationError(
            f"the model {name} is asked through the door {chosen}, which needs the package {package}, which is not "
            f"installed: {PACKAGE_REMEDIES[chosen]}"
        )

    def make() -> Model:
        match chosen:
            case "openai":
                from agentfn.models.providers.openai_model import OpenAIModel

                return OpenAIModel(name, api_key=api_key, base_url=base_url)
            case "bedrock":
                from agentfn.models.providers.bedrock_model import BedrockModel

                return BedrockModel(name, api_key=api_key, base_url=base_url)
            case "litellm":
                from agentfn.models.providers.litellm_model import LiteLLMModel

                return LiteLLMModel(name, api_key=api_key, base_url=base_url)

    return make


def provider_for(name: str, base_url: str | None) -> ProviderName:
    """The lightest door that knows the name: litellm, which knows the most, takes seconds to import."""
    provider, slash, _ = name.partition("/")
    if provider == "bedrock" and BEDROCK_NAME.fullmatch(name):
        return "bedrock"
    return "openai" if provider == "openai" or (base_url and not slash) else "litellm"


def parse_bedrock_name(name: str) -> tuple[str | None, str]:
    """The region, where the name tells one, and the id of what is to be asked."""
    found = BEDROCK_NAME.fullmatch(name)
    region, id_ = found.groups() if found else (None, name)
    return region or (id_.split(":")[3] if id_.startswith("arn:") else None), id_


def _name_fault(name: str, door: ProviderName, base: str | None) -> str:
    """What is wrong with a name, for this door."""
    provider, slash, _ = name.partition("/")
    if name != name.strip() or "" in name.split("/"):
        return f"the model {name!r} is none: a name reads provider/model, for example openai/gpt-4o"
    if door != "litellm" and base and not re.match(r"https?://[\w\[]", base):
        return f"the address {base!r} of the model {name} is none: it reads https://host/v1"
    if door == "openai" and slash and provider != "openai" and not base:
        return (
            f"the model {name} is not OpenAI's, so the door openai needs the address of its server in "
            "AGENT_MODEL_API_BASE; or leave AGENT_MODEL_PROVIDER at auto"
        )
    if door == "bedrock" and not BEDROCK_NAME.fullmatch(name):
        return (
            f"the model {name} is none that the door bedrock knows, which are bedrock/<id>, bedrock/<region>/<id> and "
            "ARNs; litellm knows others: leave AGENT_MODEL_PROVIDER at auto"
        )
    return ""


def _is_installed(package: str) -> bool:
    """Imports nothing. A folder of that name without code, as for the list of prices alone, is no package."""
    spec = importlib.util.find_spec(package)
    return spec is not None and spec.origin is not None
