"""Refuse to listen on a public address without keys or an explicit ``no_auth``."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

from service.setting_values import InvalidSetting
from service.settings import Settings


def require_keys(settings: Settings) -> None:
    """Require keys where others can reach the address, unless the operator said that it needs none.

    Raises:
        InvalidSetting
    """
    if settings.keys is not None or settings.no_auth or settings.uds is not None or is_loopback(settings.host):
        return
    raise InvalidSetting(
        "host",
        f"{settings.host} can be reached by others, and there are no keys; give --keys FILE (`tokd key new` makes "
        "a key), or --no-auth if everybody who reaches it may do everything",
    )


def is_loopback(host: str) -> bool:
    """Tell whether every address of a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def is_own_page(origin: str, host: str) -> bool:
    """Tell whether a page comes from this machine by a name that nobody else can have, or from the server's own host.

    No name is looked up: that of another site may lead here just now, so that a browser takes us for that site.
    """
    try:
        name = urlsplit(origin).hostname or ""
    except ValueError:
        return False
    try:
        return name == host or ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
