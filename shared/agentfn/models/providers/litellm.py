"""litellm as a provider: every model that litellm knows."""

from agentfn.models.model import Model
from agentfn.models.providers.provider import Provider, ReadApiKey


class LiteLLMProvider(Provider):
    """Serves what no other provider does. Its import takes seconds, so the registry has it last."""

    name = "litellm"
    package = "litellm"
    remedy = "add agentfn[litellm] to the function's requirements, or set AGENT_MODEL to an openai/… or bedrock/… model"

    def matches(self, model: str, base_url: str | None) -> bool:
        return True

    def find_error(self, model: str, base_url: str | None) -> str | None:
        return None

    def create(self, model: str, api_key: ReadApiKey, base_url: str | None) -> Model:
        from agentfn.models.providers.litellm_model import LiteLLMModel

        return LiteLLMModel(model, api_key=api_key, base_url=base_url)
