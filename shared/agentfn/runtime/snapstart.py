"""Runs SnapStart's hooks before the snapshot and after each restore.

The order and the exit codes are those of Lambda's own client. The hooks are registered with snapshot_restore_py, which
is part of Lambda's runtime.
"""

import sys
from typing import Any

from agentfn.runtime.fault import Fault, map_to_fault
from agentfn.runtime.runtime_api import RuntimeApi
from agentfn.telemetry import logger

SNAPSHOT_FAILED_EXIT_CODE, RESTORE_FAILED_EXIT_CODE = 64, 65


def run_snapshot_hooks(api: RuntimeApi) -> None:
    """Returns in a restored environment. Exits if a hook fails."""
    try:
        with map_to_fault():
            _run_before_snapshot()
            api.wait_for_restore()
    except Fault as fault:
        logger.error("the snapshot failed: %s", fault, exc_info=fault.__cause__)
        api.report_init_error(fault, "Runtime.BeforeSnapshotError")
        sys.exit(SNAPSHOT_FAILED_EXIT_CODE)
    try:
        with map_to_fault():
            _run_after_restore()
    except Fault as fault:
        logger.error("the restore from the snapshot failed: %s", fault, exc_info=fault.__cause__)
        api.report_restore_error(fault, "Runtime.AfterRestoreError")
        sys.exit(RESTORE_FAILED_EXIT_CODE)


def _run_before_snapshot() -> None:
    hooks = _registered_hooks("get_before_snapshot")
    while hooks:  # last registered, first called
        hook, arguments, named = hooks.pop()
        hook(*arguments, **named)


def _run_after_restore() -> None:
    for hook, arguments, named in _registered_hooks("get_after_restore"):
        hook(*arguments, **named)


def _registered_hooks(which: str) -> list[Any]:
    try:
        import snapshot_restore_py  # type: ignore[import-not-found] # nobody but Lambda has it
    except ImportError:
        return []
    hooks: list[Any] = getattr(snapshot_restore_py, which)()
    return hooks
