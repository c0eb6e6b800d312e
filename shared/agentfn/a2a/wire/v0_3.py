"""Protocol 0.3, where the sdk's support deviates from it: validates requests, and completes responses."""

from collections.abc import Callable
from typing import Any

from a2a.compat.v0_3 import a2a_v0_3_pb2, conversions, proto_utils, types
from a2a.types import SendMessageRequest
from a2a.utils.errors import InvalidParamsError, VersionNotSupportedError
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Error as ProtobufError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import QueryParams

from agentfn.call_context import CallContext

PATH_PREFIX = "/v1/"
SEND_PATH_SUFFIXES = ("/message:send", "/message:stream")
STREAMING_METHODS = ("message/stream", "tasks/resubscribe")
DELETE_PUSH_CONFIG_METHOD = "tasks/pushNotificationConfig/delete"
REQUEST_MODELS: dict[str, type[BaseModel]] = {
    "message/send": types.SendMessageRequest,
    "message/stream": types.SendStreamingMessageRequest,
    "tasks/get": types.GetTaskRequest,
    "tasks/cancel": types.CancelTaskRequest,
    "tasks/resubscribe": types.TaskResubscriptionRequest,
    "tasks/pushNotificationConfig/set": types.SetTaskPushNotificationConfigRequest,
    "tasks/pushNotificationConfig/get": types.GetTaskPushNotificationConfigRequest,
    "tasks/pushNotificationConfig/list": types.ListTaskPushNotificationConfigRequest,
    "tasks/pushNotificationConfig/delete": types.DeleteTaskPushNotificationConfigRequest,
    "agent/getAuthenticatedExtendedCard": types.GetAuthenticatedExtendedCardRequest,
}
MAX_REPORTED_ERRORS = 3


def validate_request(path: str, request: Any, query: QueryParams, version: str) -> None:
    """Rejects requests that the sdk would answer with the wrong error. `version` is the A2A-Version, or empty.

    Raises InvalidParamsError and VersionNotSupportedError.
    """
    if path.startswith(PATH_PREFIX):
        _validate_query(query)
        if path.endswith(SEND_PATH_SUFFIXES):
            _check_conversion(lambda: _parse_rest_message(request))
        return
    method = rpc_method(request)
    if (model := REQUEST_MODELS.get(method)) is None:
        return
    if version and not version.startswith("0."):
        raise VersionNotSupportedError(f"{method} is a method of protocol 0.3, and A2A-Version says {version}")
    try:
        parsed: Any = model.model_validate(request)
    except ValidationError as error:
        if any(item["loc"][:1] != ("params",) for item in error.errors()):
            return  # not JSON-RPC: the sdk's own error is right
        raise InvalidParamsError(f"Invalid parameters: {_format_errors(error)}") from None
    if method.startswith("message/"):
        _check_conversion(lambda: conversions.to_core_send_message_request(parsed))


def rpc_method(request: Any) -> str:
    """Returns the method of a JSON-RPC request; empty for anything else."""
    method = request.get("method") if isinstance(request, dict) else None
    return method if isinstance(method, str) else ""


def requests_no_history(path: str, request: Any, query: QueryParams) -> bool:
    """Returns whether `historyLength` is 0, which the sdk takes for no limit."""
    if not path.startswith(PATH_PREFIX) and rpc_method(request) not in REQUEST_MODELS:
        return False
    params = request.get("params", request) if isinstance(request, dict) else {}
    given = params.get("configuration", params) if isinstance(params, dict) else {}
    configuration = given if isinstance(given, dict) else {}
    return any(length in (0, "0") for length in (configuration.get("historyLength"), query.get("historyLength")))


def set_empty_history(config: Any, call: CallContext) -> None:
    """Sets `history_length` to 0 in the part of a request that has it, if the caller asked for no history."""
    if call.omit_history:
        config.history_length = 0


def complete_response(request: Any, response: Any) -> Any:
    """Adds `result` to the response for a deleted push configuration, which the sdk leaves out."""
    if rpc_method(request) == DELETE_PUSH_CONFIG_METHOD and isinstance(response, dict) and "error" not in response:
        return {**response, "result": response.get("result")}
    return response


def _validate_query(query: QueryParams) -> None:
    length = query.get("historyLength") or "0"
    if not (length.isascii() and length.isdecimal() and len(length) < 10):
        raise InvalidParamsError("historyLength must be a whole number, 0 at least")


def _parse_rest_message(request: Any) -> SendMessageRequest:
    """Parses a message like the sdk."""
    sent = ParseDict(request, a2a_v0_3_pb2.SendMessageRequest(), ignore_unknown_fields=True)
    params = proto_utils.FromProto.message_send_params(sent)
    return conversions.to_core_send_message_request(types.SendMessageRequest(id="", params=params))


def _check_conversion(convert: Callable[[], SendMessageRequest]) -> None:
    """Maps the sdk's many conversion errors to InvalidParamsError: the message caused them."""
    try:
        convert()
    except ValidationError as error:
        raise InvalidParamsError(f"Invalid parameters: {_format_errors(error)}") from None
    except (ProtobufError, ParseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidParamsError(f"Invalid parameters: the message cannot be read ({str(error)[:200]})") from None


def _format_errors(error: ValidationError) -> str:
    errors = error.errors()
    texts = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in errors[:MAX_REPORTED_ERRORS]]
    more = f" (and {len(errors) - MAX_REPORTED_ERRORS} more)" if len(errors) > MAX_REPORTED_ERRORS else ""
    return "; ".join(texts) + more
