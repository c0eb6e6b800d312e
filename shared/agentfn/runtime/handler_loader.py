"""Imports the handler that the function's configuration names, such as app.handler."""

import importlib
import sys
from typing import Any

from agentfn.runtime.fault import Fault, map_to_fault


def load_handler(handler: str) -> Any:
    """Raises Fault with Lambda's error types, also for exceptions during the import."""
    module, _, name = handler.rpartition(".")
    if not module:
        raise Fault("Runtime.MalformedHandlerName", f"Bad handler '{handler}': it names no module, as app.handler does")
    if module.partition(".")[0] in sys.builtin_module_names:
        raise Fault("Runtime.BuiltInModuleConflict", f"Cannot use built-in module {module} as a handler module")
    found = _import_module(module)
    if not hasattr(found, name):
        raise Fault("Runtime.HandlerNotFound", f"Handler '{name}' missing on module '{module}'")
    return getattr(found, name)


def _import_module(module: str) -> Any:
    try:
        with map_to_fault():
            return importlib.import_module(module.replace("/", "."))
    except Fault as fault:
        match fault.__cause__:
            case ImportError():
                text = f"Unable to import module '{module}': {fault}"
                raise Fault("Runtime.ImportModuleError", text, fault.frames) from fault
            case SyntaxError():
                text = f"Syntax error in module '{module}': {fault}"
                raise Fault("Runtime.UserCodeSyntaxError", text, fault.frames) from fault
        raise
