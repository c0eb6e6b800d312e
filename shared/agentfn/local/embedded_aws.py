"""An AWS emulator in this process: moto behind an HTTP endpoint, so that presigned URLs work in any client."""

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
    """A context manager: inside, `aws_client` returns clients of the emulator. One at a time in a process.

    The clients are created on entering; after that the environment is restored. So a Bedrock model, or a tool that uses
    AWS, gets the user's credentials and not the emulator's.
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
    """Raises ConfigurationError if another one is active: moto's state and the AWS clients are global."""
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
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # it logs every request
    thread = threading.Thread(target=server.serve_forever, name="embedded-aws", daemon=True)
    thread.start()
    url = f"http://{HOST}:{server.server_port}"
    try:
        yield url
        httpx.post(f"{url}/moto-api/reset", trust_env=False, timeout=30)  # moto's state would outlive its server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _serialize_dynamodb(application: Any) -> Any:
    """Serializes DynamoDB calls, because in moto a failed transaction undoes the writes of other threads."""
    lock = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if not environ.get("HTTP_X_AMZ_TARGET", "").startswith("DynamoDB"):
            return application(environ, start_response)
        with lock:
            return list(application(environ, start_response))

    return answer


@contextmanager
def _aws_environment(url: str) -> Iterator[None]:
    """Hides the user's AWS configuration: profile, endpoint and proxy."""
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
