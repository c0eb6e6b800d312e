"""Which provider serves a model, and the errors where none does."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agentfn import Agent, ConfigurationError
from agentfn.bootstrap.model_factory import create_model
from agentfn.models.providers.bedrock import parse_bedrock_name
from agentfn.models.providers.bedrock_model import BedrockModel
from agentfn.models.providers.litellm_model import LiteLLMModel
from agentfn.models.providers.openai_model import OpenAIModel
from agentfn.models.registry import create_lazy_model
from agentfn.testing import ScriptedModel
from support.settings import load_settings

ARN = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0"
BASE = "http://127.0.0.1:1/v1"


@pytest.fixture
def chosen() -> Callable[..., type]:
    """The class of the model that an agent's environment selects."""
    agent = Agent(name="clerk", description="A clerk.", models={"demo": ScriptedModel})
    return lambda **variables: type(create_model(agent, load_settings(**variables))())


@pytest.mark.parametrize(
    ("name", "base_url", "expected"),
    [
        ("openai/gpt-4o", None, OpenAIModel),
        ("openai/mine", BASE, OpenAIModel),
        ("mine", BASE, OpenAIModel),
        ("bedrock/amazon.nova-pro-v1:0", None, BedrockModel),
        ("bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0", None, BedrockModel),
        ("bedrock/eu-west-1/amazon.nova-pro-v1:0", None, BedrockModel),
        (f"bedrock/{ARN}", None, BedrockModel),
        ("bedrock/invoke/meta.llama3-8b-instruct-v1:0", None, LiteLLMModel),
        (f"bedrock/deepseek_r1/{ARN}", None, LiteLLMModel),
        ("anthropic/claude-sonnet-4-5", None, LiteLLMModel),
        ("openrouter/openai/gpt-4o", None, LiteLLMModel),
        ("anthropic/claude-sonnet-4-5", BASE, LiteLLMModel),
        ("gpt-4o", None, LiteLLMModel),
        ("demo", None, ScriptedModel),
        ("demo", BASE, ScriptedModel),
    ],
)
def test_auto_takes_the_lightest_provider_that_serves_the_name(
    name: str, base_url: str | None, expected: type, chosen: Callable[..., type]
) -> None:
    assert chosen(AGENT_MODEL=name, AGENT_MODEL_API_BASE=base_url) is expected


@pytest.mark.parametrize(
    ("name", "provider", "base_url", "expected"),
    [
        ("openai/gpt-4o", "litellm", None, LiteLLMModel),
        ("bedrock/amazon.nova-pro-v1:0", "litellm", None, LiteLLMModel),
        ("gpt-4o", "openai", None, OpenAIModel),
        ("meta-llama/llama-3", "openai", BASE, OpenAIModel),
        ("amazon.nova-pro-v1:0", "bedrock", None, BedrockModel),
        (ARN, "bedrock", None, BedrockModel),
        ("demo", "litellm", None, ScriptedModel),
    ],
)
def test_a_chosen_provider_is_taken_except_for_the_agents_own_models(
    name: str, provider: str, base_url: str | None, expected: type, chosen: Callable[..., type]
) -> None:
    assert chosen(AGENT_MODEL=name, AGENT_MODEL_PROVIDER=provider, AGENT_MODEL_API_BASE=base_url) is expected


@pytest.mark.parametrize(
    ("name", "provider", "message"),
    [
        ("anthropic/claude-sonnet-4-5", "openai", "AGENT_MODEL_API_BASE"),
        ("anthropic/claude-sonnet-4-5", "bedrock", "bedrock/<id>"),
        ("bedrock/invoke/meta.llama3-8b-instruct-v1:0", "bedrock", "AGENT_MODEL_PROVIDER=auto"),
        ("openai/", "auto", "provider/model"),
        ("/gpt-4o", "auto", "provider/model"),
        ("bedrock/converse/", "auto", "provider/model"),
        (" gpt-4o", "auto", "provider/model"),
    ],
)
def test_a_name_that_the_provider_does_not_serve_stops_the_start(
    name: str, provider: str, message: str, chosen: Callable[..., type]
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        chosen(AGENT_MODEL=name, AGENT_MODEL_PROVIDER=provider)

    assert name in str(caught.value)


def test_an_unknown_provider_stops_the_start(chosen: Callable[..., type]) -> None:
    with pytest.raises(ConfigurationError, match="choose one of auto, bedrock, openai, litellm"):
        chosen(AGENT_MODEL="openai/gpt-4o", AGENT_MODEL_PROVIDER="azure")


def test_an_invalid_address_stops_the_start(chosen: Callable[..., type]) -> None:
    with pytest.raises(ConfigurationError, match="write https://host/v1"):
        chosen(AGENT_MODEL="openai/gpt-4o", AGENT_MODEL_API_BASE="llm.example.com/v1")


@pytest.mark.parametrize(
    ("name", "package", "remedy"),
    [
        ("mistral/mistral-large", "litellm", r"add agentfn\[litellm\] to the function's requirements"),
        ("openai/gpt-4o", "openai", r"add agentfn\[openai\] to the function's requirements"),
        ("bedrock/amazon.nova-pro-v1:0", "botocore", r"add agentfn\[aws\]"),
    ],
)
def test_a_provider_whose_package_is_missing_stops_the_start_and_says_what_to_do(
    name: str, package: str, remedy: str, chosen: Callable[..., type], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(ConfigurationError, match=remedy) as caught:
        chosen(AGENT_MODEL=name)

    assert all(word in str(caught.value) for word in (name, f"package {package}", "provider"))


def test_a_folder_that_holds_the_list_of_prices_alone_is_no_package(tmp_path: Path) -> None:
    tmp_path.joinpath("litellm").mkdir()
    code = (
        "import sys\nfrom agentfn.errors import ConfigurationError\n"
        "from agentfn.models.registry import create_lazy_model as create\n"
        "sys.path[:] = [sys.argv[1]]\n"
        "try: create('mistral/c', api_key=lambda: None, base_url=None)\n"
        "except ConfigurationError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "needs the package litellm" in ran.stdout


def test_the_registry_imports_no_client() -> None:
    code = (
        "import sys\nfrom agentfn.models.registry import create_lazy_model as create\n"
        "for name in ('openai/a', 'bedrock/b', 'mistral/c'): create(name, api_key=lambda: None, base_url=None)\n"
        "print({'openai', 'litellm', 'boto3'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "region", "id_"),
    [
        ("bedrock/amazon.nova-pro-v1:0", None, "amazon.nova-pro-v1:0"),
        ("bedrock/converse/amazon.nova-pro-v1:0", None, "amazon.nova-pro-v1:0"),
        ("bedrock/us-gov-west-1/amazon.nova-pro-v1:0", "us-gov-west-1", "amazon.nova-pro-v1:0"),
        ("bedrock/converse/eu-west-1/amazon.nova-pro-v1:0", "eu-west-1", "amazon.nova-pro-v1:0"),
        (f"bedrock/{ARN}", "eu-west-1", ARN),
        (f"bedrock/converse/{ARN}", "eu-west-1", ARN),
        (f"bedrock/us-east-1/{ARN}", "us-east-1", ARN),
        ("amazon.nova-pro-v1:0", None, "amazon.nova-pro-v1:0"),
    ],
)
def test_a_name_on_bedrock_holds_an_id_and_maybe_a_region(name: str, region: str | None, id_: str) -> None:
    assert parse_bedrock_name(name) == (region, id_)


def test_a_key_is_read_by_the_model_not_before(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    create_lazy_model("openai/gpt-4o", api_key=lambda: read.append(1), base_url=None)()
    assert read == []
    assert importlib.util.find_spec("openai") is not None
