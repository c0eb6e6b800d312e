"""`agentfn demo`: runs an agent locally for one question and saves its files to a folder."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentfn.agent import Agent
from agentfn.cli.download import check_output_folder
from agentfn.cli.logs import readable_logs
from agentfn.cli.send import SendResult, compose_message, send_message
from agentfn.cli.terminal import CliError, PrintLine, command_name

DEMO_MODEL = "demo"  # an agent's own model of this name needs no provider
REAL_MODEL_EXAMPLE = "AGENT_MODEL=anthropic/claude-sonnet-4-5 AGENT_MODEL_API_KEY=..."
LOG_FILE_NAME = "agent.log"


def run_demo(
    folder: Path, files: Sequence[Path], question: str, output: Path, show: PrintLine, *, environment: Mapping[str, str]
) -> SendResult:
    from agentfn.local.local_agent import LocalAgent

    compose_message(question, files)  # reports a wrong file before anything starts
    check_output_folder(output)
    model = {**os.environ, **environment}.get("AGENT_MODEL") or DEMO_MODEL
    local = LocalAgent(folder, environment={**environment, "AGENT_MODEL": model})
    output.mkdir(parents=True, exist_ok=True)
    show("Starting the agent and its AWS (table, bucket, queue), all in this process ...")
    with readable_logs(logging.ERROR, file=output / LOG_FILE_NAME, short=True), local:
        _print_model(model, local.agent, show)
        show(f"\n> {question}")
        for file in files:
            show(f"  with {file}")
        show("")
        outcome = send_message(local.url, local.token, question, files, output, show)
    _print_next_steps(outcome, folder, output, model, show)
    return outcome


def _print_model(model: str, agent: Agent, show: PrintLine) -> None:
    if model != DEMO_MODEL:
        show(f"Its model is {model}.")
        return
    if DEMO_MODEL not in agent.models:
        raise CliError(f"agent {agent.name} has no demo model; set a real one: {REAL_MODEL_EXAMPLE}", 2)
    show(f"Its model is `{DEMO_MODEL}`: rules, not a language model. For a real one set {REAL_MODEL_EXAMPLE}")


def _print_next_steps(outcome: SendResult, folder: Path, output: Path, model: str, show: PrintLine) -> None:
    show(f"\nThe agent's log is {output / LOG_FILE_NAME}.")
    if outcome.state != "completed":
        show(f"The demo is over, and its task with it. To talk to the agent: {command_name()} dev {folder}")
        return
    show("What next:")
    for saved in outcome.saved_files:
        if saved.path.suffix == ".html" and not saved.error:
            show(f"  open {saved.path}")
    if model == DEMO_MODEL:
        show("  set a real model as above, and run this again")
    show(f"  {command_name()} dev {folder}   keeps the agent running for questions of your own")
    show("  make build && .venv-sam/bin/sam deploy --guided   puts it on AWS; the README has the steps")
