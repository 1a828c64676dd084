"""The addresses on the public internet: a table of ours, since Python's differs from release to release.

The blocks are those of IANA's registries of special-purpose addresses (as of 2025) that are not globally reachable,
and what is reserved elsewhere: multicast, and for IPv6 all outside of global unicast, 2000::/3. Of 192.0.0.0/24 and
2001::/23 the registries except single anycast addresses of protocols; no corpus lies there, so they stay refused.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private use
            "100.64.0.0/10",  # shared by the customers of a carrier
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local
            "172.16.0.0/12",  # private use
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4, deprecated
            "192.168.0.0/16",  # private use
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, identifiers that are never routed
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
_MAPPED, _NAT64 = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""Third quarter of an address inside of one site, whatever its prefix is (RFC 5214)."""


def is_public(address: str) -> bool:
    """Tell whether an IP address is public, also the IPv4 address within an IPv6 one; one with a zone never is."""
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return not any(ip in block for block in _SPECIAL_V4)
    bits = int(ip)
    if ip.scope_id is not None or (bits >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    bare = IPv6Address(bits)
    if bare in _MAPPED or bare in _NAT64:
        return is_public(str(IPv4Address(bits & 0xFFFF_FFFF)))
    if bare in _6TO4:
        return is_public(str(IPv4Address((bits >> 80) & 0xFFFF_FFFF)))
    return bare in _GLOBAL_V6 and not any(bare in block for block in _SPECIAL_V6)


def is_public_host(host: str) -> bool:
    """Tell whether a host may be public, by its name alone: where the name leads is checked before each connection."""
    name = host.rstrip(".").lower()
    if name in ("", "localhost") or name.endswith((".localhost", ".local", ".internal")):
        return False
    try:
        return is_public(name)
    except ValueError:
        # Resolvers also read 2130706433 and 0x7f.1 as addresses, and no public host is called so.
        return ":" not in name and not name.rpartition(".")[2][:1].isdigit()
