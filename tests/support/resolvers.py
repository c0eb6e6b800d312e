"""DNS resolvers for hosts that do not exist."""

from agentfn.fetch.address_policy import Resolver

HOST_ADDRESSES = {
    "public.test": ["93.184.216.34"],
    "public6.test": ["2606:4700:4700::1111", "1.1.1.1"],
    "localhost": ["::1", "127.0.0.1"],
    "private.test": ["10.0.0.1"],
    "mixed.test": ["93.184.216.34", "10.0.0.1"],
    "mixed6.test": ["fd00:ec2::254", "93.184.216.34"],
    "127.0.0.1.nip.io": ["127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "mapped.test": ["::ffff:10.0.0.1"],
    "zone.test": ["fe80::1%eth0"],
    "public-zone.test": ["2606:4700:4700::1111%eth0"],
    "odd.test": ["not an address"],
    "octal.test": ["010.0.0.1"],
    "empty.test": [],
}


def resolver_for(hosts: dict[str, list[str]]) -> Resolver:
    async def resolver(host: str) -> list[str]:
        if host not in hosts:
            raise OSError("no such name")
        return hosts[host]

    return resolver


def resolver_to(*addresses: str) -> Resolver:
    async def resolver(_: str) -> list[str]:
        return list(addresses)

    return resolver


def changing_resolver(*answers: str) -> Resolver:
    """Resolves to the next of these addresses each time. More lookups than addresses fail."""
    left = list(answers)

    async def resolver(_: str) -> list[str]:
        return [left.pop(0)]

    return resolver
