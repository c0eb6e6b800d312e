"""What moto needs to serve many stages, and threads, in one process."""

import functools
import threading
from collections.abc import Callable
from typing import Any


@functools.cache
def boto3_session() -> Any:
    """One session for all stages: it reads the descriptions of the services from disk, which takes longer than the rest
    of a stage. It must be created after the import of moto, which replaces AWS.
    """
    import boto3

    return boto3.Session()


def serialize_calls(call: Callable[..., Any]) -> Callable[..., Any]:
    """moto is not thread-safe: a transaction that fails would undo what another thread wrote at that time."""
    lock = threading.RLock()

    def locked(*arguments: Any, **named: Any) -> Any:
        with lock:
            return call(*arguments, **named)

    return locked
