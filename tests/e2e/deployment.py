"""`sam build` and `sam deploy` as a user runs them, against the emulator."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from e2e.emulator.process import REGION, ROOT, credentials

SAM = ROOT / ".venv-sam" / "bin" / "sam"


@dataclass(frozen=True)
class Account:
    """An AWS account that the emulator plays; builds and logs go into `folder`."""

    endpoint: str
    folder: Path

    def client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload]
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def build(self, template: str, name: str, **parameters: str) -> Path:
        """Returns the built template."""
        target = self.built(name).parent
        arguments = ["build", "--template-file", template, "--build-dir", str(target), *_overrides(parameters)]
        self._sam(f"build-{name}", arguments)
        return self.built(name)

    def built(self, name: str) -> Path:
        return self.folder / "build" / name / "template.yaml"

    def deploy(self, template: Path | str, stack: str, **parameters: str) -> dict[str, str]:
        """Returns the stack's outputs."""
        arguments = ["deploy", "--template-file", str(template), "--stack-name", stack, *_overrides(parameters)]
        self._sam(f"deploy-{stack}", [*arguments, "--no-confirm-changeset", "--no-progressbar"])
        return self.outputs(stack)

    def outputs(self, stack: str) -> dict[str, str]:
        (found,) = self.client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}

    def exported(self, name: str) -> str:
        """What a stack exports under that name."""
        exports = self.client("cloudformation").list_exports()["Exports"]
        (value,) = [export["Value"] for export in exports if export["Name"] == name]
        return str(value)

    def set_variable(self, function: str, name: str, value: str) -> None:
        """One more environment variable, for what no user would deploy and no parameter is there for."""
        functions = self.client("lambda")
        variables = functions.get_function_configuration(FunctionName=function)["Environment"]["Variables"]
        environment = {"Variables": {**variables, name: value}}
        functions.update_function_configuration(FunctionName=function, Environment=environment)

    def runs(self, storage_stack: str, task_id: str) -> int:
        """How many invocations took the task, as its head in the table says."""
        table = self.exported(f"{storage_stack}-table")
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        items = [item for page in pages for item in page["Items"]]
        (head,) = [item for item in items if item["pk"]["S"].endswith(f"#{task_id}") and item["sk"]["S"] == "head"]
        return int(head["run"]["N"])

    def keep_logs(self) -> None:
        """What the functions wrote, one file for each log group."""
        logs = self.client("logs")
        for group in logs.describe_log_groups()["logGroups"]:
            name = group["logGroupName"]
            pages = logs.get_paginator("filter_log_events").paginate(logGroupName=name)
            lines = [event["message"].rstrip() for page in pages for event in page["events"]]
            self.folder.joinpath(f"function-{name.strip('/').replace('/', '-')}.log").write_text("\n".join(lines))

    def token(self, secret: str, caller: str = "default") -> str:
        text = self.client("secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
        token: str = json.loads(text)[caller]
        return token

    def _sam(self, name: str, arguments: list[str]) -> None:
        environment = {**os.environ, **credentials(self.endpoint), "SAM_CLI_TELEMETRY": "0"}
        log = self.folder / f"{name}.log"
        with log.open("w") as file:
            finished = subprocess.run(
                # sam looks for its configuration beside the template, and a built one has none.
                [str(SAM), *arguments, "--config-file", str(ROOT / "samconfig.toml")],
                cwd=ROOT,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        if finished.returncode:
            raise RuntimeError(f"sam {' '.join(arguments)} failed; the end of {log}:\n{log.read_text()[-3000:]}")


def _overrides(parameters: dict[str, str]) -> list[str]:
    if not parameters:
        return []
    return ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())]
