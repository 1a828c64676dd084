"""API keys and their scopes, the scope of each route, and the names of the server."""

from service.auth.address import is_own_page, require_keys
from service.auth.guard import Guard
from service.auth.hosts import Hosts
from service.auth.identity import LOCAL, SCOPES, Identity, Scope
from service.auth.keys import MAX_FILE_BYTES, InvalidKeys, check_name, digest, entry, new_key, parse
from service.auth.rates import Rates
from service.auth.route_scopes import ANY_HOST, NEEDS, OPEN, Need, need_of

__all__ = [
    "ANY_HOST",
    "LOCAL",
    "MAX_FILE_BYTES",
    "NEEDS",
    "OPEN",
    "SCOPES",
    "Guard",
    "Hosts",
    "Identity",
    "InvalidKeys",
    "Need",
    "Rates",
    "Scope",
    "check_name",
    "digest",
    "entry",
    "is_own_page",
    "need_of",
    "new_key",
    "parse",
    "require_keys",
]
