"""The address of a caller: the other end of its connection, or what a trusted proxy there says of its own."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from service.errors import quote
from service.request_log import Headers
from service.setting_values import InvalidSetting

UNIX = "unix"
"""As a trusted proxy: whoever connects to the unix socket."""

MAX_FORWARDED = 1024
"""Bytes of ``x-forwarded-for`` that are read, from its end."""


class ClientAddresses:
    """Finds the address of a caller.

    Args:
        trusted: addresses and networks of proxies, whose ``x-forwarded-for`` is believed.

    Raises:
        InvalidSetting: something is no address.
    """

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = []
        self._is_unix_trusted = False
        for proxy in trusted:
            if proxy == UNIX:
                self._is_unix_trusted = True
                continue
            try:
                self._networks.append(ip_network(proxy))
            except ValueError:
                wrong = f"has {quote(proxy)}; it lists addresses, networks such as 10.0.0.0/8, and unix"
                raise InvalidSetting("trusted_proxies", wrong) from None
        self._known: tuple[str, bool] = ("", False)

    def of(self, peer: tuple[str, int] | None, headers: Headers) -> str:
        """Return the address of a caller; empty on a unix socket, unless its proxy says one."""
        address = "" if peer is None else peer[0]
        if not (self._networks or self._is_unix_trusted) or not self._trusts(address):
            return address
        line = b",".join(value for name, value in headers if name == b"x-forwarded-for")[-MAX_FORWARDED:]
        # Each proxy adds whom it sees at the end: the last one that is no proxy of ours is the caller.
        for said in reversed(line.split(b",") if line else []):
            found = _address(said)
            if found is None:
                break
            address = str(found)
            if not self._has(found):
                break
        return address

    def _trusts(self, peer: str) -> bool:
        if not peer:
            return self._is_unix_trusted
        known, is_trusted = self._known
        if peer != known:
            found = _address(peer.encode())
            is_trusted = found is not None and self._has(found)
            self._known = peer, is_trusted
        return is_trusted

    def _has(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks)


def _address(said: bytes) -> IPv4Address | IPv6Address | None:
    """Read an address, which may have a port, and brackets round one of IPv6."""
    text = said.strip().decode("latin-1")
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
