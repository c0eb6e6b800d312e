"""The registry of model providers. A provider is added by its module in `providers` and one line here."""

from agentfn.errors import ConfigurationError
from agentfn.models.lazy_model import LazyModel
from agentfn.models.providers.bedrock import BedrockProvider
from agentfn.models.providers.litellm import LiteLLMProvider
from agentfn.models.providers.openai import OpenAIProvider
from agentfn.models.providers.provider import Provider, ReadApiKey

# The first that matches serves a model. litellm matches every name.
PROVIDERS: tuple[Provider, ...] = (BedrockProvider(), OpenAIProvider(), LiteLLMProvider())
AUTO = "auto"


def create_lazy_model(name: str, *, provider: str = AUTO, api_key: ReadApiKey, base_url: str | None) -> LazyModel:
    """The model of this name, created at its first use. `base_url` replaces the provider's own address.

    Raises ConfigurationError where the provider does not know the name, or its package is not installed. Imports no
    client.
    """
    if name != name.strip() or "" in name.split("/"):
        raise ConfigurationError(f"{name!r} is not a model name: write provider/model, for example openai/gpt-4o")
    chosen = provider_for(name, base_url) if provider == AUTO else find_provider(provider)
    if error := chosen.find_error(name, base_url):
        raise ConfigurationError(error)
    if not chosen.is_installed():
        raise ConfigurationError(
            f"the provider {chosen.name} of the model {name} needs the package {chosen.package}, which is not "
            f"installed: {chosen.remedy}"
        )
    return LazyModel(lambda: chosen.create(name, api_key, base_url))


def provider_for(name: str, base_url: str | None) -> Provider:
    return next(provider for provider in PROVIDERS if provider.matches(name, base_url))


def find_provider(name: str) -> Provider:
    """Raises ConfigurationError where there is no provider of this name."""
    for provider in PROVIDERS:
        if provider.name == name:
            return provider
    names = ", ".join([AUTO, *(provider.name for provider in PROVIDERS)])
    raise ConfigurationError(f"AGENT_MODEL_PROVIDER={name} is not a provider: choose one of {names}")
