"""AWS's event stream encoding: a prelude with its CRC, headers, a payload, and a CRC of the whole.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html
"""

import json
import struct
from binascii import crc32
from typing import Any

STRING = 7


def event(kind: str, payload: dict[str, Any]) -> bytes:
    return _frame(payload, {":message-type": "event", ":event-type": kind, ":content-type": "application/json"})


def exception(kind: str, payload: dict[str, Any]) -> bytes:
    return _frame(payload, {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"})


def _frame(payload: dict[str, Any], headers: dict[str, str]) -> bytes:
    body = json.dumps(payload).encode()
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack("!II", 16 + len(head) + len(body), len(head))
    frame = lengths + struct.pack("!I", crc32(lengths)) + head + body
    return frame + struct.pack("!I", crc32(frame))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack("!B", len(name)) + name + struct.pack("!BH", STRING, len(value)) + value
