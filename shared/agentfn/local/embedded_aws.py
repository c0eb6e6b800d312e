"""AWS in this process: moto behind a real HTTP endpoint, so that signed links can be opened by anything."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import httpx

from agentfn.aws_clients import aws_client
from agentfn.errors import ConfigurationError
from agentfn.local.aws_resources import AwsResources, create_resources

HOST = "127.0.0.1"
REGION = "eu-central-1"
SERVICES = ("dynamodb", "s3", "sqs", "secretsmanager")
_exclusive_lock = threading.Lock()


class EmbeddedAws:
    """Use as a context manager; inside, `agentfn.aws_clients.aws_client` leads here. One at a time in a process.

    The clients are made on entering. The environment is as it was when that is done, so that a model at Bedrock, or a
    tool of the agent that works on AWS, has its user's own credentials and not the dummies from here.
    """

    def __init__(self, name: str = "local") -> None:
        self._name = name
        self._stack = ExitStack()
        self.url = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(_exclusive())
            self.url = stack.enter_context(_moto_server())
            aws_client.cache_clear()
            stack.callback(aws_client.cache_clear)
            with _aws_environment(self.url):
                self.resources: AwsResources = create_resources(self._name, REGION)
                for service in SERVICES:
                    stack.callback(aws_client(service).close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()


@contextmanager
def _exclusive() -> Iterator[None]:
    """moto's state and agentfn's clients belong to the process: a second one would take them from the first."""
    if not _exclusive_lock.acquire(blocking=False):
        raise ConfigurationError("another local agent runs in this process; start each in a process of its own")
    try:
        yield
    finally:
        _exclusive_lock.release()


@contextmanager
def _moto_server() -> Iterator[str]:
    try:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server
    except ImportError as error:
        raise ConfigurationError(f"{error}; an agent runs locally with `pip install 'agentfn[local]'`") from error

    server = make_server(HOST, 0, _serialize_dynamodb(DomainDispatcherApplication(create_backend_app)), threaded=True)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it tells of every request
    thread = threading.Thread(target=server.serve_forever, name="embedded-aws", daemon=True)
    thread.start()
    url = f"http://{HOST}:{server.server_port}"
    try:
        yield url
        httpx.post(f"{url}/moto-api/reset", trust_env=False, timeout=30)  # or it would outlive its server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _serialize_dynamodb(application: Any) -> Any:
    """moto is not made for threads: a transaction that fails would undo what another thread wrote meanwhile."""
    lock = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
            return application(environ, start_response)
        with lock:
            return list(application(environ, start_response))

    return answer


@contextmanager
def _aws_environment(url: str) -> Iterator[None]:
    """Of what is the user's own, nothing that AWS goes by: no profile, no other endpoint, no proxy."""
    import boto3

    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    ours = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": HOST,
        "no_proxy": HOST,
    }
    with patch.dict(os.environ, own | ours, clear=True), patch.object(boto3, "DEFAULT_SESSION", None):
        yield
