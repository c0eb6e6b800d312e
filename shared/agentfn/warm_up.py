"""Warm-up before the first event, for SnapStart and provisioned concurrency.

Without them a function imports as little as possible at its start, and the model's client at the first model call.
"""

import os
import random
from collections.abc import Mapping
from typing import Protocol

from agentfn.aws_clients import aws_client
from agentfn.telemetry import logger

INITIALIZATION_TYPE_VARIABLE = "AWS_LAMBDA_INITIALIZATION_TYPE"
AWS_SERVICES = ("dynamodb", "s3", "sqs")


class SupportsWarmUp(Protocol):
    def warm_up(self) -> None: ...

    def reset(self) -> None: ...


def prepare_environment(engine: SupportsWarmUp, environment: Mapping[str, str] = os.environ) -> None:
    """Warms the function up at the time that its initialization type has for it.

    Under SnapStart all is done in hooks, which Lambda's runtime calls before the snapshot and after each restore.
    """
    match environment.get(INITIALIZATION_TYPE_VARIABLE):
        case "provisioned-concurrency":
            warm_up(engine)
        case "snap-start":
            _register_snapshot_hooks(engine)


def warm_up(engine: SupportsWarmUp) -> None:
    """Imports what the first task needs, and creates the AWS clients. Sends no request and opens no connection."""
    for service in AWS_SERVICES:
        aws_client(service)
    engine.warm_up()


def reset_after_restore(engine: SupportsWarmUp) -> None:
    """Reseeds `random` and drops the clients, because many environments start from one snapshot.

    Secrets and tokens are read later than that. UUIDs come from the operating system, which Lambda reseeds.
    """
    random.seed()
    aws_client.cache_clear()
    engine.reset()


def _register_snapshot_hooks(engine: SupportsWarmUp) -> None:
    try:
        import snapshot_restore_py as hooks  # type: ignore[import-not-found] # nobody but Lambda has it
    except ImportError:
        logger.warning("SnapStart without snapshot_restore_py, which is part of Lambda's runtime: nothing is warmed up")
        return
    hooks.register_before_snapshot(warm_up, engine)
    hooks.register_after_restore(reset_after_restore, engine)
