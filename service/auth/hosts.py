"""The names of this server. A page can point its own name here, but cannot use one of these.

A browser takes a server for the site whose name it asked for. A page of ``evil.example`` that has this name lead to
127.0.0.1 reads every answer of a server that looks at nobody's key. The header ``host`` still says ``evil.example``.
"""

from __future__ import annotations

import re
import socket
from ipaddress import ip_address

from service.errors import ServiceError, quote
from service.request_log import Headers
from service.setting_values import InvalidSetting
from service.settings import Settings

ANY = "*"
"""As an allowed host: every name."""

MAX_KNOWN = 256
"""Values of ``host`` that are remembered; addresses have too many ports to remember all."""

_NAME = re.compile(r"\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*")


class Hosts:
    """The names by which a server may be asked.

    Args:
        settings: an address, ``localhost``, the name of the machine and ``host`` are always its own, and so is what
            ``allowed_hosts`` lists; a name that begins with a dot means all names below it.

    Raises:
        InvalidSetting: what is listed is no name.
    """

    def __init__(self, settings: Settings) -> None:
        for name in settings.allowed_hosts:
            if name != ANY and _NAME.fullmatch(name.lower()) is None:
                wrong = f"has {quote(name)}; list names without scheme and port, .example.com for all below it, or *"
                raise InvalidSetting("allowed_hosts", wrong)
        names = {name.lower() for name in (*settings.allowed_hosts, settings.host, socket.gethostname())}
        self._names = names - {""}
        self._endings = (".localhost", *(name for name in names if name.startswith(".")))
        self._known: set[bytes] = set()

    @classmethod
    def of(cls, settings: Settings) -> Hosts | None:
        """Return the names to check; ``None`` where no page could do harm, since it has no key and opens no socket."""
        hosts = cls(settings)
        is_closed = settings.keys is not None or settings.uds is not None
        unchecked = ANY in settings.allowed_hosts or (is_closed and not settings.allowed_hosts)
        return None if unchecked else hosts

    def require(self, headers: Headers) -> None:
        """Refuse a request to another name; one without any is from no browser.

        Errors:
            ``host_not_allowed``
        """
        for name, value in headers:
            if name == b"host" and value not in self._known:
                host = value.decode("latin-1")
                if not self._are_ours(host):
                    ways = "ask it by its address or as localhost, or start it with --allowed-host"
                    raise ServiceError("host_not_allowed", f"this server is not {quote(host)}; {ways}", "header host")
                if len(self._known) < MAX_KNOWN:
                    self._known.add(value)

    def _are_ours(self, host: str) -> bool:
        name = re.sub(r":[0-9]*\Z", "", host).lower().removesuffix(".")
        if name in self._names or name == "localhost" or name.endswith(self._endings):
            return True
        try:
            ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True
