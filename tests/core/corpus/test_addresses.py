"""Which addresses and hosts are public; nothing here asks a resolver or connects."""

from __future__ import annotations

import socket
from ipaddress import ip_network

import pytest

from tokenizer_core import Bounds, CorpusForbidden
from tokenizer_core.corpus import web_files
from tokenizer_core.corpus.addresses import is_public

REGISTERED = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32
192.0.0.9/32 192.0.0.10/32 192.0.0.170/31 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
::/128 ::1/128 ::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:2::/48 2001:10::/28 2001:20::/28
2001:db8::/32 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
"""
"""Blocks that IANA's registries of special purposes, of multicast and of address space keep from the public."""


@pytest.mark.parametrize("block", REGISTERED.split())
def test_no_address_of_a_special_block_is_public(block: str) -> None:
    network = ip_network(block)
    middle = network[network.num_addresses // 2]
    assert [str(each) for each in (network[0], middle, network[-1]) if is_public(str(each))] == []


@pytest.mark.parametrize("inner", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.88.99.1", "192.0.0.8"])
@pytest.mark.parametrize(
    "form",
    [
        "::ffff:{v4}",  # mapped
        "::{v4}",  # compatible
        "::ffff:0:{v4}",  # translated
        "64:ff9b::{v4}",  # NAT64
        "64:ff9b:1::{v4}",
        "2002:{hex}::",  # 6to4
        "2002:{hex}::1",
        "2001:0:{hex}::",  # Teredo, of a server
        "2001:0:4136:e378:8000:63bf:{inverted}",  # Teredo, of a client
        "2606:4700::5efe:{v4}",  # ISATAP
        "2606:4700::200:5efe:{v4}",
        "2002:101:101::5efe:{v4}",
    ],
)
def test_an_address_with_a_private_one_within_is_not_public(form: str, inner: str) -> None:
    a, b, c, d = map(int, inner.split("."))
    high, low = a << 8 | b, c << 8 | d
    written = {"v4": inner, "hex": f"{high:x}:{low:x}", "inverted": f"{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"}
    assert not is_public(form.format(**written))


@pytest.mark.parametrize(
    "address", ["fe80::1%eth0", "2606:4700::1111%eth0", "2606:4700::1111%2", "::1%lo", "2606:4700::5efe:101:101"]
)
def test_an_address_of_one_link_or_site_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "192.0.1.1",
        "192.88.98.1",
        "172.32.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:200::1",
        "2a00:1450:4001:800::200e",
        "2003::1",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::",
    ],
)
def test_all_other_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["192.0.0.8", "192.88.99.1", "fec0::1", "3fff::1", "2606:4700::5efe:10.0.0.1"])
def test_every_address_of_a_name_is_checked_before_any_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    def found(host: str, port: int, **_: object) -> list[object]:
        return [(0, 0, 0, "", (each, port)) for each in ("1.1.1.1", address)]

    def connect(*_: object, **__: object) -> None:
        raise AssertionError("a socket was made")

    monkeypatch.setattr(socket, "getaddrinfo", found)
    monkeypatch.setattr(socket, "socket", connect)
    with pytest.raises(CorpusForbidden) as raised:
        web_files.WebFile.open("https://corpus.example/a.txt", Bounds(public_addresses_only=True), "corpus")
    assert raised.value.code == "address_forbidden"


@pytest.mark.parametrize(
    "host", ["", ".", "localhost", "a.LOCALHOST.", "2130706433", "0x7f.1", "127.1", "::1%", "[::1]"]
)
def test_a_host_that_is_private_by_its_name_is_known(host: str) -> None:
    assert not Bounds.is_public_host(host)
    assert Bounds.is_public_host("example.org")
