"""Encodes JSON numbers so that protobuf's Struct keeps them.

Data parts and metadata are sent and stored in Struct, which has only doubles: 3.0 becomes 3, and integers above 2**53
lose digits. A number that a double would change is encoded as a string.
"""

import json
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message

FREE_JSON_FIELDS = frozenset({"data", "metadata"})  # members whose value is the sender's own JSON
ENCODED_PREFIX = "\uf8ffjson:"  # prefix of an encoded string; the number's JSON follows
MAX_EXACT_INTEGER = 2**53  # doubles represent every integer up to this one


def encode_numbers(value: Any, free_json: bool = False) -> Any:
    """A request's JSON with its numbers encoded for protobuf. `free_json` is true inside the caller's own JSON."""
    match value:
        case dict():
            return {name: encode_numbers(item, free_json or name in FREE_JSON_FIELDS) for name, item in value.items()}
        case list():
            return [encode_numbers(item, free_json) for item in value]
        case _ if free_json and _needs_encoding(value):
            return ENCODED_PREFIX + json.dumps(value)
    return value


def decode_numbers(value: Any, free_json: bool = False) -> Any:
    """JSON from protobuf with its numbers decoded. Doubles without a fraction, which agentfn wrote, become integers."""
    match value:
        case dict():
            return {name: decode_numbers(item, free_json or name in FREE_JSON_FIELDS) for name, item in value.items()}
        case list():
            return [decode_numbers(item, free_json) for item in value]
        case str() if free_json and value.startswith(ENCODED_PREFIX):
            return _decode_string(value)
        case float() if free_json and value.is_integer() and abs(value) <= MAX_EXACT_INTEGER:
            return int(value)
    return value


def decode_message[Proto: Message](message: Proto) -> Proto:
    """A copy with doubles in place of encoded numbers, for code that does not know the encoding."""
    return ParseDict(decode_numbers(MessageToDict(message)), type(message)())


def _needs_encoding(value: Any) -> bool:
    """Whether protobuf would change the value. A string with the prefix would be decoded as a number."""
    match value:
        case str():
            return value.startswith(ENCODED_PREFIX)
        case bool():
            return False
        case int():
            return abs(value) > MAX_EXACT_INTEGER
        case float():
            return value.is_integer()
    return False


def _decode_string(text: str) -> Any:
    try:
        return json.loads(text.removeprefix(ENCODED_PREFIX))
    except ValueError:  # a caller's own string, which `encode_numbers` never saw
        return text
