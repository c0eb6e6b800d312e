"""Queues as event sources: a concurrency that comes from a template's parameter is text, as CloudFormation allows."""

from __future__ import annotations

from typing import Any

from ministack.services import lambda_svc


def put_in() -> None:
    concurrency = lambda_svc._sqs_esm_concurrency

    def with_number(mapping: dict[str, Any], *arguments: Any) -> Any:
        scaling = {name: int(value) for name, value in (mapping.get("ScalingConfig") or {}).items()}
        return concurrency({**mapping, "ScalingConfig": scaling}, *arguments)

    lambda_svc._sqs_esm_concurrency = with_number
