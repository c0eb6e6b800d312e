"""OpenAI as a provider, and every server with an API like OpenAI's chat completions."""

from agentfn.models.model import Model
from agentfn.models.providers.provider import Provider, ReadApiKey, find_base_url_error


class OpenAIProvider(Provider):
    """Serves `openai/<model>`, and any model where the address of its server is given."""

    name = "openai"
    package = "openai"
    remedy = "add agentfn[openai] to the function's requirements, or set AGENT_MODEL to a bedrock/… model"

    def matches(self, model: str, base_url: str | None) -> bool:
        prefix, slash, _ = model.partition("/")
        return prefix == "openai" or bool(base_url and not slash)

    def find_error(self, model: str, base_url: str | None) -> str | None:
        prefix, slash, _ = model.partition("/")
        if slash and prefix != "openai" and not base_url:
            return (
                f"the model {model} is not one of OpenAI's, so the provider openai needs the address of its server in "
                "AGENT_MODEL_API_BASE; or set AGENT_MODEL_PROVIDER=auto"
            )
        return find_base_url_error(model, base_url)

    def create(self, model: str, api_key: ReadApiKey, base_url: str | None) -> Model:
        from agentfn.models.providers.openai_model import OpenAIModel

        return OpenAIModel(model, api_key=api_key, base_url=base_url)
