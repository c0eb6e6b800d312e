"""What is done before the first event, where Lambda gives the time for it: SnapStart and provisioned concurrency.

Elsewhere a function starts with as little as it can, and imports its model's client at the first question.
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
    """Imports and parses what the first task would. Nothing is asked of anyone, and no connection is opened."""
    for service in AWS_SERVICES:
        aws_client(service)
    engine.warm_up()


def reset_after_restore(engine: SupportsWarmUp) -> None:
    """Many environments begin with this one memory: chance begins anew in each, and so do clients.

    Secrets and tokens were not read yet. Identifiers come from the operating system, which Lambda takes care of.
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
