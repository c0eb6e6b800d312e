"""Imports an agent's folder, `functions/<agent>`, which is /var/task on Lambda."""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from agentfn.agent import Agent
from agentfn.errors import ConfigurationError

APP_MODULE = "app"


def check_folder(folder: Path) -> Path:
    """The absolute path. Raises ConfigurationError for a folder that cannot hold an agent."""
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}")
    if not (folder / f"{APP_MODULE}.py").is_file():
        raise ConfigurationError(
            f"{folder} has no app.py; an agent's folder has one, with `agent = Agent(...)` and `handler = serve(agent)`"
        )
    if (folder / "agentfn").is_dir():
        raise ConfigurationError(f"{folder} is what `sam build` made; give the agent's own folder")
    return folder.resolve()


@contextmanager
def import_path(folder: Path) -> Iterator[None]:
    """Makes the folder's modules importable inside the block, before all others, and removes them after it."""
    names = _top_level_names(folder)
    aside = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in names}
    for name in aside:
        del sys.modules[name]
    importlib.invalidate_caches()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] in names]:
            del sys.modules[name]
        sys.modules.update(aside)


def load_app(folder: Path, environment: Mapping[str, str]) -> tuple[Agent, Any]:
    """`agent` and `handler` of the folder's app.py, imported with `environment` as its whole environment.

    Raises ConfigurationError if one of them, or an imported package, is missing; else the error of app.py.
    """
    with patch.dict(os.environ, environment, clear=True):
        try:
            app = importlib.import_module(APP_MODULE)
        except ModuleNotFoundError as error:
            raise ConfigurationError(_import_error_text(folder, error)) from error
    return _get_attribute(app, "agent", Agent), _get_attribute(app, "handler", object)


def _top_level_names(folder: Path) -> frozenset[str]:
    found = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    return frozenset(found - sys.stdlib_module_names)


def _get_attribute(app: ModuleType, name: str, kind: type) -> Any:
    value = getattr(app, name, None)
    if value is None or not isinstance(value, kind):
        raise ConfigurationError(f"{app.__file__} needs `agent = Agent(...)` and `handler = serve(agent)`: no {name}")
    return value


def _import_error_text(folder: Path, error: ModuleNotFoundError) -> str:
    text = f"{folder / APP_MODULE}.py cannot be imported: {error.msg}"
    listed = folder / "requirements.txt"
    return f"{text}; what it needs is in {listed}" if listed.is_file() else text
