"""The interface of a model provider: which models it serves, the package it needs, how it creates a model."""

import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from agentfn.models.model import Model

type ReadApiKey = Callable[[], str | None]


class Provider(ABC):
    """A way to reach models.

    Every cold start imports the modules of all providers: they import their clients in `create` only.
    """

    name: ClassVar[str]  # its value of AGENT_MODEL_PROVIDER
    package: ClassVar[str]  # the import name of the package that it needs
    remedy: ClassVar[str]  # what to do where that package is missing

    @abstractmethod
    def matches(self, model: str, base_url: str | None) -> bool:
        """Whether AGENT_MODEL_PROVIDER=auto takes this provider for the model."""

    @abstractmethod
    def find_error(self, model: str, base_url: str | None) -> str | None:
        """Why this provider cannot serve the model, or None."""

    @abstractmethod
    def create(self, model: str, api_key: ReadApiKey, base_url: str | None) -> Model:
        """Creates the model. It calls `api_key` for each request; `base_url` replaces the provider's own address."""

    def is_installed(self) -> bool:
        """Imports nothing. A folder without code, which may hold the price list alone, is not the package."""
        spec = importlib.util.find_spec(self.package)
        return spec is not None and spec.origin is not None


def find_base_url_error(model: str, base_url: str | None) -> str | None:
    if base_url and not re.match(r"https?://[\w\[]", base_url):
        return f"the address {base_url!r} for the model {model} is not valid: write https://host/v1"
    return None
