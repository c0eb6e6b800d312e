"""What is done before the first event, where Lambda gives the time for it: SnapStart and provisioned concurrency.

Elsewhere a function starts with as little as it can, and imports its model's client at the first question.
"""

import os
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

from agentfn.bootstrap import aws_client
from agentfn.telemetry import logger

INITIALIZATION_TYPE_VARIABLE = "AWS_LAMBDA_INITIALIZATION_TYPE"
AWS_SERVICES = ("dynamodb", "s3", "sqs")


def prepare_environment(model: Callable[[], Any] | None, environment: Mapping[str, str] = os.environ) -> None:
    """`model` makes the model, and keeps it; None where none is asked.

    Under SnapStart all is done in hooks, which Lambda's runtime calls before the snapshot and after each restore.
    """
    match environment.get(INITIALIZATION_TYPE_VARIABLE):
        case "provisioned-concurrency":
            warm_up(model)
        case "snap-start":
            _register_snapshot_hooks(model)


def warm_up(model: Callable[[], Any] | None) -> None:
    """Imports and parses what the first task would. Nothing is asked of anyone, and no connection is opened."""
    for service in AWS_SERVICES:
        aws_client(service)
    if model is None:
        return
    door = sys.modules.get(type(model()).__module__)
    if load := getattr(door, "load", None):  # by which a door imports its provider's client
        load()


def reset_after_restore(model: Callable[[], Any] | None) -> None:
    """Many environments begin with this one memory: chance begins anew in each, and so do clients.

    Secrets and tokens were not read yet. Identifiers come from the operating system, which Lambda takes care of.
    """
    random.seed()
    aws_client.cache_clear()
    forget = getattr(model, "cache_clear", None)
    if forget is not None:
        forget()


def _register_snapshot_hooks(model: Callable[[], Any] | None) -> None:
    try:
        import snapshot_restore_py as hooks  # type: ignore[import-not-found] # nobody but Lambda has it
    except ImportError:
        logger.warning("SnapStart without snapshot_restore_py, which is part of Lambda's runtime: nothing is warmed up")
        return
    hooks.register_before_snapshot(warm_up, model)
    hooks.register_after_restore(reset_after_restore, model)
