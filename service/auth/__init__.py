"""Who may do what: API keys in a file, their scopes, and which scope a route needs."""

from service.auth.address import is_own_page, require_keys
from service.auth.guard import Guard
from service.auth.identity import LOCAL, SCOPES, Identity, Scope
from service.auth.keys import MAX_FILE_BYTES, InvalidKeys, check_name, digest, entry, new_key, parse
from service.auth.needs import NEEDS, OPEN, Need

__all__ = [
    "LOCAL",
    "MAX_FILE_BYTES",
    "NEEDS",
    "OPEN",
    "SCOPES",
    "Guard",
    "Identity",
    "InvalidKeys",
    "Need",
    "Scope",
    "check_name",
    "digest",
    "entry",
    "is_own_page",
    "new_key",
    "parse",
    "require_keys",
]
