"""What is signed for others to use, and until when it works: no signature outlives the credentials that made it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Lambda hands its role's credentials over without saying when they end. They must outlast the invocation that they are
# handed to, which may take so long; more is not promised anywhere.
MIN_SESSION = timedelta(minutes=15)
SECURITY_TOKEN_FIELD = "x-amz-security-token"  # noqa: S105 - the name of a field: whoever sends it has credentials that end


@dataclass(frozen=True)
class PresignedUrl:
    """Whoever has it can download from it until `expires`, at the least."""

    url: str
    expires: datetime


@dataclass(frozen=True)
class PresignedPost:
    """A POST to `url`, of `fields` and after them the content as `file`, is an upload. It works until `expires`."""

    url: str
    fields: dict[str, str]
    expires: datetime


def credentials_expiry(client: Any) -> datetime | None:
    """When the client's credentials end, as far as is known; renewed before, where that is due.

    To be asked before something is signed: if they are renewed in between, it only lives longer than said.
    """
    credentials = client._get_credentials() if hasattr(client, "_get_credentials") else None  # botocore's own affair
    if credentials is None:
        return None
    credentials.get_frozen_credentials()
    return getattr(credentials, "_expiry_time", None)


def describe_url(url: str, credentials_end: datetime | None) -> PresignedUrl:
    """`known` is when the credentials end that signed it."""
    query = {name.lower(): value for name, value in parse_qsl(urlsplit(url).query)}
    return PresignedUrl(url, _expiry(query, int(query["x-amz-expires"]), credentials_end))


def describe_post(
    url: str, fields: dict[str, str], lifetime_seconds: int, credentials_end: datetime | None
) -> PresignedPost:
    return PresignedPost(url, fields, _expiry(fields, lifetime_seconds, credentials_end))


def _expiry(signature: dict[str, str], lifetime_seconds: int, credentials_end: datetime | None) -> datetime:
    signed = datetime.strptime(signature["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    end = signed + timedelta(seconds=lifetime_seconds)
    if SECURITY_TOKEN_FIELD not in signature:
        return end
    return min(end, credentials_end.astimezone(UTC).replace(microsecond=0) if credentials_end else signed + MIN_SESSION)
