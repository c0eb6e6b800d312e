"""Fetching under the real name: TLS is checked for the host that was asked for, not for the address connected to."""

import asyncio
import datetime
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agentfn import ConfigurationError
from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher
from support.raw_http_server import RawHttpServer, http_response, redirect_response
from support.resolvers import resolver_to
from support.settings import load_settings

Context = Callable[[], ssl.SSLContext]


@pytest.fixture
def server_tls(tmp_path: Path) -> ssl.SSLContext:
    """A server's side, with a certificate for files.test and [::1] that vouches for itself, kept as `ca.pem`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("files.test"), x509.IPAddress(ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem, private = tmp_path / "ca.pem", tmp_path / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, private)
    return context


@pytest.fixture
def tls(server_tls: ssl.SSLContext, tmp_path: Path) -> Context:
    """A caller's side, who trusts that one."""
    return lambda: ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))


def test_the_certificate_is_that_of_the_name_and_the_server_is_told_the_name(
    server_tls: ssl.SSLContext, tls: Context
) -> None:
    told: list[str | None] = []
    server_tls.sni_callback = lambda _, name, __: told.append(name)
    fetcher = Fetcher(30, allow_loopback=True, resolver=resolver_to("127.0.0.1"), tls_context=tls)
    with RawHttpServer(http_response(b"secret"), tls=server_tls) as server:
        found = asyncio.run(fetcher.fetch(f"https://files.test:{server.port}/a", 100))
        assert found.content == b"secret"
        assert server.header("host") == f"files.test:{server.port}"
        assert asyncio.run(fetcher.post(f"https://FILES.test.:{server.port}/a", b"{}", {})) == 200
        assert asyncio.run(fetcher.fetch(f"https://127.0.0.1:{server.port}/a", 100)).content == b"secret"
    assert told == ["files.test", "files.test", None]


def test_a_certificate_for_another_name_is_refused(server_tls: ssl.SSLContext, tls: Context) -> None:
    """Even for the address's own name: who can turn a name to his address has no certificate for it."""
    fetcher = Fetcher(30, allow_loopback=True, resolver=resolver_to("127.0.0.1"), tls_context=tls)
    with RawHttpServer(http_response(b"secret"), tls=server_tls) as server:
        with pytest.raises(FileRejected, match="cannot be reached"):
            asyncio.run(fetcher.fetch(f"https://other.test:{server.port}/a", 100))
        assert server.heads == []


def test_a_certificate_that_nobody_vouches_for_is_refused(server_tls: ssl.SSLContext) -> None:
    fetcher = Fetcher(30, allow_loopback=True, resolver=resolver_to("127.0.0.1"))
    with RawHttpServer(http_response(b"secret"), tls=server_tls) as server:
        with pytest.raises(FileRejected, match="cannot be reached"):
            asyncio.run(fetcher.post(f"https://files.test:{server.port}/a", b"{}", {"Authorization": "secret"}))
        assert server.heads == []


def test_from_https_it_does_not_go_on_to_http(server_tls: ssl.SSLContext, tls: Context) -> None:
    fetcher = Fetcher(30, allow_loopback=True, resolver=resolver_to("127.0.0.1"), tls_context=tls)
    with (
        RawHttpServer(http_response(b"plain")) as plain,
        RawHttpServer(redirect_response(plain.url), tls=server_tls) as secure,
    ):
        with pytest.raises(FileRejected, match="from https to http"):
            asyncio.run(fetcher.fetch(f"https://files.test:{secure.port}/a", 100))
        assert plain.connections == 0
        plain.answer = redirect_response(f"https://files.test:{secure.port}/b")
        secure.answer = http_response(b"secure")
        assert asyncio.run(fetcher.fetch(plain.url, 100)).content == b"secure"


def test_an_ipv6_address_has_its_brackets_in_the_host_header() -> None:
    with RawHttpServer(http_response(b"six"), "::1") as server:
        assert (
            asyncio.run(Fetcher(30, allow_loopback=True).fetch(f"http://[0::1]:{server.port}/", 100)).content == b"six"
        )
        assert server.header("host") == f"[::1]:{server.port}"


def test_the_settings_make_the_fetcher() -> None:
    assert Fetcher.from_settings(load_settings()) == Fetcher(20.0, (), allow_loopback=False)
    given = load_settings(
        AGENTFN_FETCH_SECONDS="3", AGENTFN_FETCH_HOSTS="a.test, *.b.test", AGENTFN_FETCH_LOOPBACK="true"
    )
    assert Fetcher.from_settings(given) == Fetcher(3.0, ("a.test", "*.b.test"), allow_loopback=True)


@pytest.mark.parametrize("hosts", [",", "a.test,", "https://a.test", "*", "a.test b.test", "*.*.test", "a.test/x"])
def test_a_list_of_hosts_that_says_nothing_clear_is_no_list(hosts: str) -> None:
    """An empty one would allow every host."""
    with pytest.raises(ConfigurationError, match="must be comma-separated host names"):
        load_settings(AGENTFN_FETCH_HOSTS=hosts)
