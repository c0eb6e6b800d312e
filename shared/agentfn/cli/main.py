"""`agentfn`: what is typed, and what is done for it."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from agentfn.cli.terminal import Stop, complain, show
from agentfn.errors import AgentfnError

MISUSED, INTERRUPTED = 2, 130
EXIT_CODES = "exit codes: 0 the task completed, 1 it did not, 2 the command was wrong, 3 the agent waits for an answer"
QUESTION = "Describe these tables: what is in them, and what stands out?"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code. What the user can put right is one line on standard error, without a traceback."""
    given = parser().parse_args(arguments)
    try:
        code: int = given.run(given)
    except AgentfnError as error:
        complain(str(error))
        return error.code if isinstance(error, Stop) else MISUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("agentfn", description="AI agents on AWS Lambda, from the command line.")
    commands = top.add_subparsers(required=True, metavar="command")
    _add_send(commands.add_parser("send", help="send an agent a message and get its files", epilog=EXIT_CODES))
    _add_dev(commands.add_parser("dev", help="run an agent here, with an AWS in this process, until Ctrl-C"))
    _add_demo(commands.add_parser("demo", help="run an agent here for one question", epilog=EXIT_CODES))
    return top


def _add_send(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", help="the agent's URL, its stage included")
    command.add_argument("text", nargs="?", default="", help="the message")
    command.add_argument("--file", type=Path, action="append", default=[], dest="files", help="attach it; repeatable")
    command.add_argument("--token", default=os.environ.get("AGENTFN_TOKEN", ""), help="else AGENTFN_TOKEN")
    command.add_argument("--task", default="", metavar="ID", help="answer this task; without a message, look at it")
    _add_output(command, "agentfn-output")
    command.set_defaults(run=_send)


def _add_dev(command: argparse.ArgumentParser) -> None:
    _add_agent(command)
    command.add_argument("--port", type=_port, default=0, help="any free one when left out")
    command.add_argument("--timeout", type=float, default=900.0, metavar="SECONDS", help="of one invocation; 900")
    command.set_defaults(run=_dev)


def _add_demo(command: argparse.ArgumentParser) -> None:
    _add_agent(command)
    command.add_argument("--file", type=Path, action="append", default=[], dest="files", help="attach it; repeatable")
    command.add_argument("--question", default=QUESTION)
    _add_output(command, "demo-output")
    command.set_defaults(run=_demo)


def _add_agent(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the agent's folder, as functions/analyst")
    command.add_argument("--model", default="", help="in place of AGENT_MODEL")


def _add_output(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("--output", type=Path, default=Path(default), help=f"folder for its files; {default}")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port")
    return int(text)


def _send(given: argparse.Namespace) -> int:
    from agentfn.cli.send import send

    return send(given.url, given.token, given.text, given.files, given.output, show, task_id=given.task).code


def _dev(given: argparse.Namespace) -> int:
    from agentfn.cli.dev import dev

    return dev(given.folder, show, environment=_model(given), port=given.port, seconds=given.timeout)


def _demo(given: argparse.Namespace) -> int:
    from agentfn.cli.demo import demo

    return demo(given.folder, given.files, given.question, given.output, show, environment=_model(given)).code


def _model(given: argparse.Namespace) -> dict[str, str]:
    return {"AGENT_MODEL": given.model} if given.model else {}
