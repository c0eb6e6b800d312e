"""SnapStart: what is done before the process is kept as a snapshot, and in each one that is made from it.

In the order, and with the exit codes, of Lambda's own client. The hooks are those of snapshot_restore_py, which is part
of Lambda's runtime.
"""

import sys
from typing import Any

from agentfn.runtime.fault import Fault, faults
from agentfn.runtime.runtime_api import RuntimeApi
from agentfn.telemetry import logger

NO_SNAPSHOT, NO_RESTORE = 64, 65


def pass_through(api: RuntimeApi) -> None:
    """Returns in an environment that was restored. Exits where a hook fails."""
    try:
        with faults():
            _before()
            api.wait_for_restore()
    except Fault as fault:
        logger.error("no snapshot can be taken: %s", fault, exc_info=fault.__cause__)
        api.fail_init(fault, "Runtime.BeforeSnapshotError")
        sys.exit(NO_SNAPSHOT)
    try:
        with faults():
            _after()
    except Fault as fault:
        logger.error("the snapshot cannot be used: %s", fault, exc_info=fault.__cause__)
        api.fail_restore(fault, "Runtime.AfterRestoreError")
        sys.exit(NO_RESTORE)


def _before() -> None:
    hooks = _registered("get_before_snapshot")
    while hooks:  # the last one that was registered comes first
        hook, arguments, named = hooks.pop()
        hook(*arguments, **named)


def _after() -> None:
    for hook, arguments, named in _registered("get_after_restore"):
        hook(*arguments, **named)


def _registered(which: str) -> list[Any]:
    try:
        import snapshot_restore_py  # type: ignore[import-not-found] # nobody but Lambda has it
    except ImportError:
        return []
    hooks: list[Any] = getattr(snapshot_restore_py, which)()
    return hooks
