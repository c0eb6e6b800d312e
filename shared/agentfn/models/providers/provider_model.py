"""The base class of the models of providers."""

from agentfn.models.model import Model
from agentfn.models.providers.provider import ReadApiKey


class ProviderModel(Model):
    """`api_key` is called for each request, in a thread: a secret is read late, and its rotation is noticed. `base_url`
    replaces the provider's own address.
    """

    def __init__(self, name: str, *, api_key: ReadApiKey = lambda: None, base_url: str | None = None) -> None:
        self.name = name
        self._api_key = api_key
        self._base_url = base_url
        self._unsupported: set[str] = set()  # parameters that the provider said it does not support
