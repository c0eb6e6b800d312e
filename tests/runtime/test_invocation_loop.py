"""The runtime client under handlers that are no agent's: plain functions are served as Lambda's own client does it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentfn.runtime
from agentfn.local.lambda_events import rest_event
from runtime.conftest import Environment, Starting
from runtime.lambda_service import ARN

WRAPPER = Path(agentfn.runtime.__file__).with_name("stream-wrapper")


@pytest.fixture(scope="module")
def plain(start: Starting) -> Environment:
    return start("plain.handler")


@pytest.fixture(scope="module")
def speaker(start: Starting) -> Environment:
    return start("spoken.handler")


def test_a_plain_function_is_told_of_its_invocation(plain: Environment) -> None:
    names = ["aws_request_id", "function_name", "function_version", "memory_limit_in_mb", "invoked_function_arn"]
    answer = plain.invoke({"do": "tell", "of": [*names, "log_group_name", "log_stream_name"]}, seconds=100)
    told = answer.json()
    assert 0 < told.pop("left") <= 100_000
    assert told.pop("calls") == 1
    assert told == {
        "aws_request_id": answer.request_id,
        "function_name": "clerk",
        "function_version": "7",
        "memory_limit_in_mb": "1769",
        "invoked_function_arn": ARN,
        "log_group_name": "/aws/lambda/clerk",
        "log_stream_name": "2026/01/01/[7]abc",
    }
    assert (answer.streamed, answer.headers["content-type"]) == (False, "application/json")


def test_a_request_to_a_plain_function_is_answered_as_a_whole(plain: Environment) -> None:
    answer = plain.invoke(rest_event("GET", "/") | {"do": "count"})
    assert answer.json() == {"whole": 3, "half": 2.5, "text": "größer"}
    assert not answer.streamed


def test_no_time_is_left_past_the_deadline(plain: Environment) -> None:
    assert plain.invoke({"do": "tell", "of": []}, seconds=-1).json()["left"] == 0


def test_mobile_clients_and_tenants_are_told(plain: Environment) -> None:
    client = json.dumps({"custom": {"shop": "x"}, "client": {"app_title": "Till"}})
    identity = json.dumps({"cognitoIdentityId": "id", "cognitoIdentityPoolId": "pool"})
    answer = plain.invoke(
        {"do": "identify"},
        Lambda_Runtime_Client_Context=client,
        Lambda_Runtime_Cognito_Identity=identity,
        Lambda_Runtime_Aws_Tenant_Id="tenant",
        Lambda_Runtime_Invocation_Id="try-2",
        Lambda_Runtime_Of_Tomorrow="unheard of",
    )
    assert answer.json() == [{"shop": "x"}, "Till", "id", "tenant"]
    assert answer.headers["lambda-runtime-invocation-id"] == "try-2"


def test_a_client_context_that_is_no_json_is_an_error(plain: Environment) -> None:
    answer = plain.invoke({"do": "identify"}, Lambda_Runtime_Client_Context="{")
    assert answer.json()["errorType"] == "Runtime.LambdaContextUnmarshalError"


def test_the_trace_is_that_of_the_invocation(plain: Environment) -> None:
    assert plain.invoke({"do": "trace"}, Lambda_Runtime_Trace_Id="Root=1-5f").json() == "Root=1-5f"
    assert plain.invoke({"do": "trace"}).json() is None


def test_bytes_are_passed_on_as_they_are(plain: Environment) -> None:
    answer = plain.invoke({"do": "bytes"})
    assert (answer.whole(), answer.headers["content-type"]) == (b"raw", "application/unknown")


def test_what_the_handler_raises_is_told_with_its_stack_and_the_process_goes_on(plain: Environment) -> None:
    answer = plain.invoke({"do": "break"})
    told = answer.json()
    assert (answer.kind, told["errorType"], told["errorMessage"]) == (
        "error",
        "LookupError",
        "nothing under that name",
    )
    assert told["requestId"] == answer.request_id
    (frame,) = told["stackTrace"]  # the handler's own, without the client's
    assert "plain.py" in frame
    assert answer.headers["lambda-runtime-function-error-type"] == "LookupError"
    cause = json.loads(answer.headers["lambda-runtime-function-xray-error-cause"])
    assert cause["exceptions"][0]["message"] == "nothing under that name"
    assert plain.invoke({"do": "tell", "of": []}).json()["calls"] > 1


@pytest.mark.parametrize(
    ("event", "kind", "why"),
    [
        (b"{", "Runtime.UnmarshalError", "Unable to unmarshal input"),
        ({"do": "object"}, "Runtime.MarshalError", "object is not JSON serializable"),
        ({"do": "much"}, "Function.ResponseSizeTooLarge", "6,300,002 bytes, and Lambda's limit is 6,291,556"),
    ],
)
def test_what_cannot_be_passed_on_is_an_error_that_says_so(
    plain: Environment, event: object, kind: str, why: str
) -> None:
    told = plain.invoke(event).json()
    assert told["errorType"] == kind
    assert why in told["errorMessage"]


def test_what_other_libraries_log_is_one_line_of_json(plain: Environment) -> None:
    plain.invoke({"do": "log"}).whole()
    lines = plain.log.read_text().splitlines()
    assert "and a third" in lines
    (line,) = [line for line in plain.logged() if line["message"] == "two\nlines"]
    assert line["level"] == "WARNING"


def test_status_and_headers_come_first_with_each_of_them_that_there_is(speaker: Environment) -> None:
    answer = speaker.invoke(rest_event("GET", "/"))
    assert answer.body() == b"first last"
    assert answer.head() == {
        "statusCode": 201,
        "headers": {"x-one": "1"},
        "multiValueHeaders": {"vary": ["x", "y"]},
        "cookies": ["a=1", "b=2"],
    }


def test_an_answer_may_be_empty(speaker: Environment) -> None:
    answer = speaker.invoke(rest_event("GET", "/empty"))
    assert (answer.body(), answer.trailers) == (b"", {})


@pytest.mark.parametrize(("path", "kind"), [("/early", "RuntimeError"), ("/silent", "Runtime.NoResponse")])
def test_what_breaks_before_the_first_byte_is_an_error_of_the_invocation(
    speaker: Environment, path: str, kind: str
) -> None:
    answer = speaker.invoke(rest_event("GET", path))
    assert (answer.json()["errorType"], answer.kind) == (kind, "error")


def test_what_breaks_later_is_told_at_the_end(speaker: Environment) -> None:
    answer = speaker.invoke(rest_event("GET", "/late"))
    assert answer.broken_off_with()["errorMessage"] == "in the middle"
    assert answer.trailers["lambda-runtime-function-error-type"] == "RuntimeError"
    assert answer.body() == b"first "


def test_a_reader_who_has_gone_is_noticed_and_the_process_goes_on(speaker: Environment) -> None:
    speaker.invoke(rest_event("GET", "/gone"), hang_up=True).whole()
    assert len(speaker.invoke({"who": "has gone"}).json()["gone"]) == 1


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        ("broken.handler", "Runtime.ImportModuleError"),
        ("missing.handler", "Runtime.ImportModuleError"),
        ("plain.nothing", "Runtime.HandlerNotFound"),
        ("handler", "Runtime.MalformedHandlerName"),
        ("sys.exit", "Runtime.BuiltInModuleConflict"),
        ("app.handler", "KeyError"),  # its app.py asks for a variable
    ],
)
def test_a_function_that_cannot_start_says_why_and_ends(start: Starting, handler: str, kind: str) -> None:
    made = start(handler)
    what, (headers, told) = made.service.told.get(timeout=120)
    assert (what, told["errorType"], headers["Lambda-Runtime-Function-Error-Type"]) == ("init error", kind, kind)
    assert made.process.wait(120) == 1


def test_the_wrapper_starts_it_in_the_place_of_lambdas_own_client(start: Starting, tmp_path: Path) -> None:
    assert os.access(WRAPPER, os.X_OK)
    (tmp_path / "of_the_runtime.py").write_text("")
    command = (str(WRAPPER), sys.executable, "/var/runtime/bootstrap.py")
    wrapped = start("plain.handler", command, LAMBDA_RUNTIME_DIR=str(tmp_path))
    assert wrapped.invoke({"do": "bytes"}).whole() == b"raw"


def test_the_wrapper_leads_to_the_package_then_to_layers_then_to_the_runtimes_own(tmp_path: Path) -> None:
    show = tmp_path / "python"
    show.write_text('#!/bin/sh\necho "$PYTHONPATH" "$@"\n')
    show.chmod(0o755)
    told = subprocess.run([WRAPPER, show, "-S", "/var/runtime/bootstrap.py"], env={}, capture_output=True, text=True)
    path, *arguments = told.stdout.split()
    assert path == "/var/task:/opt/python/lib/python3.13/site-packages:/opt/python:/var/runtime"
    assert arguments == ["-m", "agentfn.runtime"]


def test_it_ends_when_it_is_told_to(start: Starting) -> None:
    made = start("plain.handler")
    made.invoke({"do": "bytes"}).whole()
    made.process.terminate()
    assert made.process.wait(120) == 0
