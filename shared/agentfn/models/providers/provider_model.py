"""What the doors to hosted models know of theirs."""

from collections.abc import Callable


class Hosted:
    """`key` is called at each question, in a thread, so that a secret is read late and its rotation is noticed. `base`
    is the address of a server other than the provider's own.
    """

    def __init__(self, name: str, *, key: Callable[[], str | None] = lambda: None, base: str | None = None) -> None:
        self.name = name
        self._key = key
        self._base = base
        self._lacking: set[str] = set()  # options that the provider said it does not have
