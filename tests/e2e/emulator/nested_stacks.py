"""Nested SAM applications: the emulator applies the SAM transform to the outermost template only."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ministack.services.cloudformation import engine, provisioners

_nested: ContextVar[bool] = ContextVar("nested", default=False)


def put_in() -> None:
    parse, deploy = engine._parse_template, provisioners._cfn_nested_stack_deploy

    def parse_and_transform(body: str) -> Any:
        template = parse(body)
        return engine._apply_transforms(template) if _nested.get() else template

    def deploy_transformed(*arguments: Any, **named: Any) -> Any:
        token = _nested.set(True)
        try:
            return deploy(*arguments, **named)
        finally:
            _nested.reset(token)

    engine._parse_template = parse_and_transform
    provisioners._cfn_nested_stack_deploy = deploy_transformed
