"""Amazon Bedrock as a provider: the models of its Converse API."""

import re

from agentfn.models.model import Model
from agentfn.models.providers.provider import Provider, ReadApiKey, find_base_url_error

# An id or an ARN, after a region or not. Bedrock's other APIs have other names (bedrock/invoke/…): litellm serves them.
BEDROCK_NAME = re.compile(r"(?:bedrock/)?(?:converse/)?(?:([a-z]{2}(?:-[a-z]+)+-\d)/)?(arn:.+|[^/]+)")


class BedrockProvider(Provider):
    """Serves `bedrock/<id>` and `bedrock/<region>/<id>`, where the id may be an ARN."""

    name = "bedrock"
    package = "botocore"
    remedy = "Lambda's runtime has it; elsewhere, add agentfn[aws] to the requirements"

    def matches(self, model: str, base_url: str | None) -> bool:
        return model.partition("/")[0] == "bedrock" and BEDROCK_NAME.fullmatch(model) is not None

    def find_error(self, model: str, base_url: str | None) -> str | None:
        if not BEDROCK_NAME.fullmatch(model):
            return (
                f"the provider bedrock does not know the model {model}: it takes bedrock/<id>, bedrock/<region>/<id> "
                "and ARNs; for litellm's other names set AGENT_MODEL_PROVIDER=auto"
            )
        return find_base_url_error(model, base_url)

    def create(self, model: str, api_key: ReadApiKey, base_url: str | None) -> Model:
        from agentfn.models.providers.bedrock_model import BedrockModel

        return BedrockModel(model, api_key=api_key, base_url=base_url)


def parse_bedrock_name(name: str) -> tuple[str | None, str]:
    """The region, None where the name does not say it, and the model's id or ARN."""
    match = BEDROCK_NAME.fullmatch(name)
    region, model_id = match.groups() if match else (None, name)
    return region or (model_id.split(":")[3] if model_id.startswith("arn:") else None), model_id
