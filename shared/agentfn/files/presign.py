"""Presigned URLs and forms with the time they expire: no signature outlives the credentials that made it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Lambda passes its role's credentials without their end. They outlast the invocation that they are passed to, which may
# take 15 minutes; AWS promises no more.
MIN_SESSION = timedelta(minutes=15)
SECURITY_TOKEN_FIELD = "x-amz-security-token"  # noqa: S105 - the name of a field, which temporary credentials send


@dataclass(frozen=True)
class PresignedUrl:
    """A URL that downloads an object, until `expires` at least, for everyone who has it."""

    url: str
    expires: datetime


@dataclass(frozen=True)
class PresignedPost:
    """An upload form: POST `fields` to `url`, and after them the content as the field `file`, before `expires`."""

    url: str
    fields: dict[str, str]
    expires: datetime


def credentials_expiry(client: Any) -> datetime | None:
    """When the client's credentials end, None where that is unknown. Renews them first where that is due.

    Call it before signing: if they are renewed in between, the signature only works longer than told.
    """
    credentials = client._get_credentials() if hasattr(client, "_get_credentials") else None  # private to botocore
    if credentials is None:
        return None
    credentials.get_frozen_credentials()
    return getattr(credentials, "_expiry_time", None)


def describe_url(url: str, credentials_end: datetime | None) -> PresignedUrl:
    """Adds the expiry to a URL. `credentials_end` is when the credentials end that signed it."""
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
