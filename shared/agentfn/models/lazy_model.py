"""A model that is created at its first use."""

from collections.abc import Callable

from agentfn.models.model import Model


class LazyModel:
    """Holds a model. Calling it creates the model once and returns it."""

    def __init__(self, create: Callable[[], Model]) -> None:
        self._create = create
        self._model: Model | None = None

    def __call__(self) -> Model:
        if self._model is None:
            self._model = self._create()
        return self._model

    def warm_up(self) -> None:
        self().warm_up()

    def reset(self) -> None:
        """Drops the model: the next call creates another."""
        self._model = None

    async def aclose(self) -> None:
        """Closes the model's connections, where it was created."""
        if self._model is not None:
            await self._model.aclose()
