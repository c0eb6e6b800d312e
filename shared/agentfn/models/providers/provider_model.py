"""What the doors to hosted models know of theirs."""

from collections.abc import Callable


class ProviderModel:
    """`key` is called at each question, in a thread, so that a secret is read late and its rotation is noticed. `base`
    is the address of a server other than the provider's own.
    """

    def __init__(
        self, name: str, *, api_key: Callable[[], str | None] = lambda: None, base_url: str | None = None
    ) -> None:
        self.name = name
        self._api_key = api_key
        self._base_url = base_url
        self._unsupported: set[str] = set()  # options that the provider said it does not have
