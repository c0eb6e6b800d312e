"""Objects, and the links to them."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from agentfn.aws_clients import aws_client
from agentfn.errors import StoredDataError
from agentfn.files import Bucket


def test_what_was_put_is_there_until_it_is_gone(bucket: Bucket) -> None:
    bucket.put("clerk/x", b"\0\xff")
    assert bucket.get("clerk/x") == b"\0\xff"
    with pytest.raises(StoredDataError, match="clerk/y is no longer in the bucket"):
        bucket.get("clerk/y")


def test_a_link_is_signed_the_new_way_for_the_regions_own_host_and_lives_as_long_as_set(bucket: Bucket) -> None:
    link = urlsplit(bucket.presigned_url("clerk/alice/t/produced/1"))
    query = parse_qs(link.query)
    assert link.scheme == "https"
    assert str(link.hostname).endswith(".s3.eu-central-1.amazonaws.com")
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Expires"] == ["3600"]
    assert "/eu-central-1/s3/aws4_request" in query["X-Amz-Credential"][0]


def test_signing_makes_no_call(bucket: Bucket) -> None:
    called: list[Any] = []
    aws_client("s3").meta.events.register("before-send", lambda **event: called.append(event))
    bucket.presigned_url("clerk/x")
    assert not called


@pytest.mark.parametrize(
    ("name", "fallback", "encoded"),
    [
        ("résumé 2026.pdf", "resume 2026.pdf", "r%C3%A9sum%C3%A9%202026.pdf"),
        ("日本語.pdf", ".pdf", "%E6%97%A5%E6%9C%AC%E8%AA%9E.pdf"),
        ('a"b\r\nX-Evil: 1.pdf', "a_b__X-Evil: 1.pdf", "a%22b%0D%0AX-Evil%3A%201.pdf"),
    ],
)
def test_a_download_has_the_name_and_the_type_it_was_stored_with(
    bucket: Bucket, name: str, fallback: str, encoded: str
) -> None:
    bucket.put("clerk/x", b"%PDF", "application/pdf", name)
    answer = requests.get(bucket.presigned_url("clerk/x"), timeout=5)
    assert (answer.status_code, answer.content) == (200, b"%PDF")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == f"inline; filename=\"{fallback}\"; filename*=UTF-8''{encoded}"
    assert "X-Evil" not in answer.headers
