"""`agentfn demo`: an agent on a laptop gets one question, and what comes of it lands in a folder."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentfn.agent import Agent
from agentfn.cli.download import check_output
from agentfn.cli.logs import readable_logs
from agentfn.cli.send import Outcome, compose, send
from agentfn.cli.terminal import Show, Stop, command

DEMO = "demo"  # the name of an agent's own model that needs no provider
REAL = "AGENT_MODEL=anthropic/claude-sonnet-4-5 AGENT_MODEL_API_KEY=..."
LOG = "agent.log"


def demo(
    folder: Path, files: Sequence[Path], question: str, output: Path, show: Show, *, environment: Mapping[str, str]
) -> Outcome:
    from agentfn.local.local_agent import LocalAgent

    compose(question, files)  # a wrong file is told before anything starts
    check_output(output)
    model = {**os.environ, **environment}.get("AGENT_MODEL") or DEMO
    local = LocalAgent(folder, environment={**environment, "AGENT_MODEL": model})
    output.mkdir(parents=True, exist_ok=True)
    show("Starting the agent and its AWS (table, bucket, queue), all in this process ...")
    with readable_logs(logging.ERROR, file=output / LOG, short=True), local:
        _tell_model(model, local.agent, show)
        show(f"\n> {question}")
        for file in files:
            show(f"  with {file}")
        show("")
        outcome = send(local.url, local.token, question, files, output, show)
    _tell_next(outcome, folder, output, model, show)
    return outcome


def _tell_model(model: str, agent: Agent, show: Show) -> None:
    if model != DEMO:
        show(f"Its model is {model}.")
        return
    if DEMO not in agent.models:
        raise Stop(f"agent {agent.name} has no demo model of its own; set a real one: {REAL}", 2)
    show(f"Its model is `{DEMO}`: rules, not a language model. For a real one set {REAL}")


def _tell_next(outcome: Outcome, folder: Path, output: Path, model: str, show: Show) -> None:
    show(f"\nThe agent's log is {output / LOG}.")
    if outcome.state != "completed":
        show(f"The demo is over, and its task with it. To talk to the agent: {command()} dev {folder}")
        return
    show("What next:")
    for saved in outcome.saved:
        if saved.path.suffix == ".html" and not saved.error:
            show(f"  open {saved.path}")
    if model == DEMO:
        show("  set a real model as above, and run this again")
    show(f"  {command()} dev {folder}   keeps the agent running for questions of your own")
    show("  make build && .venv-sam/bin/sam deploy --guided   puts it on AWS; the README has the steps")
