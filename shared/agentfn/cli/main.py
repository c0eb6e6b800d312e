"""The arguments of `agentfn`, and the functions that run its commands."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from agentfn.cli.terminal import CliError, print_error, print_line
from agentfn.errors import AgentfnError

EXIT_USAGE_ERROR, EXIT_INTERRUPTED = 2, 130
EXIT_CODES = "exit codes: 0 the task completed, 1 it did not, 2 the command was wrong, 3 the agent waits for an answer"
DEFAULT_QUESTION = "Describe these tables: what is in them, and what stands out?"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code. Errors that the user can fix are one line on standard error, without a traceback."""
    given = build_parser().parse_args(arguments)
    try:
        code: int = given.run(given)
    except AgentfnError as error:
        print_error(str(error))
        return error.exit_code if isinstance(error, CliError) else EXIT_USAGE_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("agentfn", description="AI agents on AWS Lambda, from the command line.")
    commands = top.add_subparsers(required=True, metavar="command")
    _add_send_arguments(
        commands.add_parser("send", help="send an agent a message and get its files", epilog=EXIT_CODES)
    )
    _add_dev_arguments(commands.add_parser("dev", help="run an agent here, with an AWS in this process, until Ctrl-C"))
    _add_demo_arguments(commands.add_parser("demo", help="run an agent here for one question", epilog=EXIT_CODES))
    return top


def _add_send_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("url", help="the agent's URL, its stage included")
    command.add_argument("text", nargs="?", default="", help="the message")
    command.add_argument("--file", type=Path, action="append", default=[], dest="files", help="attach it; repeatable")
    command.add_argument("--token", default=os.environ.get("AGENTFN_TOKEN", ""), help="else AGENTFN_TOKEN")
    command.add_argument("--task", default="", metavar="ID", help="answer this task; without a message, look at it")
    _add_output_argument(command, "agentfn-output")
    command.set_defaults(run=_run_send)


def _add_dev_arguments(command: argparse.ArgumentParser) -> None:
    _add_agent_arguments(command)
    command.add_argument("--port", type=_parse_port, default=0, help="any free one when left out")
    command.add_argument("--timeout", type=float, default=900.0, metavar="SECONDS", help="of one invocation; 900")
    command.set_defaults(run=_run_dev)


def _add_demo_arguments(command: argparse.ArgumentParser) -> None:
    _add_agent_arguments(command)
    command.add_argument("--file", type=Path, action="append", default=[], dest="files", help="attach it; repeatable")
    command.add_argument("--question", default=DEFAULT_QUESTION)
    _add_output_argument(command, "demo-output")
    command.set_defaults(run=_run_demo)


def _add_agent_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the agent's folder, as functions/analyst")
    command.add_argument("--model", default="", help="in place of AGENT_MODEL")


def _add_output_argument(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("--output", type=Path, default=Path(default), help=f"folder for its files; {default}")


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port number")
    return int(text)


def _run_send(given: argparse.Namespace) -> int:
    from agentfn.cli.send import send_message

    return send_message(
        given.url, given.token, given.text, given.files, given.output, print_line, task_id=given.task
    ).exit_code


def _run_dev(given: argparse.Namespace) -> int:
    from agentfn.cli.dev import run_dev

    return run_dev(
        given.folder, print_line, environment=_model_environment(given), port=given.port, seconds=given.timeout
    )


def _run_demo(given: argparse.Namespace) -> int:
    from agentfn.cli.demo import run_demo

    return run_demo(
        given.folder, given.files, given.question, given.output, print_line, environment=_model_environment(given)
    ).exit_code


def _model_environment(given: argparse.Namespace) -> dict[str, str]:
    return {"AGENT_MODEL": given.model} if given.model else {}
