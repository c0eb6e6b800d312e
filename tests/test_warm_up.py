"""Warm-up before the first event, under provisioned concurrency and SnapStart."""

import random
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest

from agentfn.aws_clients import aws_client
from agentfn.local.embedded_aws import EmbeddedAws
from agentfn.models import Model, ModelRequest, ModelResponse
from agentfn.models.lazy_model import LazyModel
from agentfn.models.providers.litellm_model import LiteLLMModel
from agentfn.runs.executor_engine import ExecutorEngine
from agentfn.warm_up import INITIALIZATION_TYPE_VARIABLE, prepare_environment
from runtime.task_root import HOOKS

loaded: list[str] = []


class Parrot(Model):
    name = "parrot"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.turns[-1].text)

    def warm_up(self) -> None:
        loaded.append("client")


@pytest.fixture(autouse=True)
def _aws() -> Iterator[None]:
    loaded.clear()
    with EmbeddedAws("starting"):
        aws_client.cache_clear()
        yield


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lambda's own module for SnapStart."""
    module = ModuleType("snapshot_restore_py")
    exec(HOOKS, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    return module


def run(hooks: list[Any]) -> None:
    for hook, arguments, named in hooks:
        hook(*arguments, **named)


def clients() -> int:
    return aws_client.cache_info().currsize


@pytest.mark.parametrize("kind", ["on-demand", ""])
def test_a_function_on_demand_starts_with_nothing_done(kind: str, hooks: Any) -> None:
    prepare_environment(LazyModel(Parrot), {INITIALIZATION_TYPE_VARIABLE: kind})
    assert (loaded, clients(), hooks.before, hooks.after) == ([], 0, [], [])


def test_provisioned_concurrency_imports_all_and_creates_each_client(hooks: Any) -> None:
    prepare_environment(LazyModel(Parrot), {INITIALIZATION_TYPE_VARIABLE: "provisioned-concurrency"})
    assert (loaded, clients(), hooks.before) == (["client"], 3, [])


def test_before_a_snapshot_all_is_imported_and_not_earlier(hooks: Any) -> None:
    prepare_environment(LazyModel(Parrot), {INITIALIZATION_TYPE_VARIABLE: "snap-start"})
    assert (loaded, clients()) == ([], 0)
    run(hooks.before)
    assert (loaded, clients()) == (["client"], 3)


def test_after_a_restore_clients_model_and_chance_are_new(hooks: Any) -> None:
    model = LazyModel(Parrot)
    prepare_environment(model, {INITIALIZATION_TYPE_VARIABLE: "snap-start"})
    run(hooks.before)
    old, of_the_snapshot = model(), random.getstate()
    run(hooks.after)
    assert clients() == 0
    assert model() is not old
    assert random.getstate() != of_the_snapshot


def test_an_agent_of_another_framework_has_no_model_to_import(hooks: Any) -> None:
    prepare_environment(ExecutorEngine(Mock()), {INITIALIZATION_TYPE_VARIABLE: "snap-start"})
    run(hooks.before)
    run(hooks.after)
    assert loaded == []


def test_litellm_is_imported_by_its_model(hooks: Any) -> None:
    prepare_environment(
        LazyModel(lambda: LiteLLMModel("openai/gpt-4o")), {INITIALIZATION_TYPE_VARIABLE: "provisioned-concurrency"}
    )
    assert "litellm" in sys.modules


def test_a_runtime_without_hooks_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", None)
    prepare_environment(LazyModel(Parrot), {INITIALIZATION_TYPE_VARIABLE: "snap-start"})
    assert (loaded, clients()) == ([], 0)
