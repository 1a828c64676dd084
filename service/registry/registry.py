"""The tokenizers of a server, found by name, hash, ``name@hash``, or the name of a model.

A reference is looked up in a table that was filled when the registry was made, and hashes among the trained tokenizers
that are open: that touches no file, and a part of a hash finds nothing. For what is not open yet, or may have come
since, ``get`` raises ``Unopened``, and whoever can wait for the disk opens it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from service.errors import ServiceError, quote
from service.registry.models import HASH, Models
from service.registry.served import ServedTokenizer
from service.registry.trained_tokenizers import Trained
from service.setting_values import InvalidSetting
from tokenizer_core import Tokenizer, did_you_mean

_NAME = r"[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9_-])?"
_REFERENCE = re.compile(rf"{_NAME}|{HASH}|{_NAME}@{HASH}")
_HASHED = re.compile(rf"{HASH}|{_NAME}@{HASH}")
_NAMED = re.compile(_NAME)
_MOST_WAYS, _MAX_MODEL = 8, 256
_MODEL = re.compile(r"[a-z0-9][\w.:-]*(?:/[a-z0-9][\w.:-]*)+", re.ASCII | re.IGNORECASE)
"""A name that the setting ``models`` might have: it is unknown rather than wrong."""

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
"""Names of devices on Windows: an artifact of this name could be unpacked nowhere."""


def require_name(name: str, path: str, *, model: bool = False) -> None:
    """Refuse what cannot be the name of a tokenizer, or of a model.

    Errors:
        ``invalid_name``
    """
    named = _NAMED.fullmatch(name) is not None and _RESERVED.fullmatch(name) is None
    if not named and not (model and _MODEL.fullmatch(name) and len(name) <= _MAX_MODEL):
        kinds = "a name (a-z, 0-9, '.', '_', '-')" + (", or that of a model, such as org/model" if model else "")
        raise ServiceError("invalid_name", f"{quote(name)} cannot be a name here; give {kinds}", path)


class Unopened(Exception):
    """A tokenizer may have this name or hash, but it is not open; ``open`` does that, and waits for the disk.

    Args:
        missing: the error where each opening only finds that there is something newer: what is served changes all the
            time, and this name is in none of what was opened. ``None`` for a tokenizer that is there.
    """

    def __init__(self, reference: str, open: Callable[[], None], missing: ServiceError | None = None) -> None:
        super().__init__(reference)
        self.reference, self.open, self.missing = reference, open, missing


class Registry:
    """An immutable set of tokenizers, and those that jobs trained.

    Args:
        loaded: in the order of the settings; no two of one name.
        default: a reference to one of them; the first if ``None``.
        models: ``model=reference``: further names of tokenizers, and patterns of names.
        aliases, lenient: those of ``Models``.
        trained: where further tokenizers are found, by hash, and by name where only one has it.
        newer: asked for a name that is unknown; returns what takes up a change, if there may have been one since.
        hashes: returns those of the trained tokenizers of a name.
    """

    def __init__(
        self,
        loaded: Sequence[ServedTokenizer],
        default: str | None = None,
        models: Sequence[str] = (),
        trained: Trained | None = None,
        newer: Callable[[], Callable[[], None] | None] = lambda: None,
        hashes: Callable[[str], list[str]] = lambda _: [],
        aliases: Mapping[str, str] = MappingProxyType({}),
        lenient: bool = False,
    ) -> None:
        self._trained, self._newer, self._hashes = trained, newer, hashes
        self.loaded = tuple(loaded)
        self._by_reference: Mapping[str, ServedTokenizer] = self._index()
        self.models = Models(models, self._by_reference, aliases, lenient=lenient)
        chosen = self.loaded[0] if default is None else self._named(default)
        if chosen is None:
            raise InvalidSetting("default_tokenizer", f"{quote(default)} is none of the loaded: {self._names()}")
        self.default = chosen

    def get(self, reference: str | None) -> ServedTokenizer:
        """Find a tokenizer.

        Errors:
            ``invalid_name``: this can be no reference. ``tokenizer_not_found``: nothing of this name or hash is loaded.
            ``tokenizer_ambiguous``: several trained tokenizers have this name.
            Unopened
        """
        if reference is None:
            return self.default

        def missing() -> ServiceError:
            return ServiceError(
                "tokenizer_not_found",
                f"no tokenizer {quote(reference)} is loaded; there are {self._names()}{self._near(reference)}",
                "tokenizer",
            )

        found = self._find(reference, missing)
        if found is not None:
            return found
        if _MODEL.fullmatch(reference):
            raise missing()
        if _REFERENCE.fullmatch(reference) is None or _RESERVED.fullmatch(reference.partition("@")[0]):
            raise ServiceError(
                "invalid_name",
                f"{quote(reference)} is not a reference to a tokenizer; give a name (a-z, 0-9, '.', '_', '-'), "
                f"sha256: with 64 hexadecimal digits, or name@sha256:...{self._near(reference)}",
                "tokenizer",
            )
        raise missing()

    def trained(self) -> list[Tokenizer]:
        """Return the trained tokenizers that are open now."""
        return [] if self._trained is None else self._trained.all_opened()

    def takes_long(self, reference: str | None, size: int) -> bool:
        """Tell whether the tokenizer of a name or model may take long over so many bytes, if it is there and open."""
        try:
            return self.of_model(reference).takes_long(size)
        except (ServiceError, Unopened):
            # Whoever answers finds out, and comes back once it is open.
            return False

    def _named(self, reference: str) -> ServedTokenizer | None:
        return self._by_reference.get(reference) or self.models.exact(reference)

    def _find(self, reference: str, missing: Callable[[], ServiceError]) -> ServedTokenizer | None:
        found = self._named(reference) or self._find_trained(reference, missing) or self.models.matching(reference)
        if found is None:
            refresh = self._newer()
            if refresh is not None:
                raise Unopened(reference, refresh, None if self._hashes(reference) else missing())
            # Last, so that no job takes a name from an operator's pattern.
            found = self._find_trained_name(reference, missing)
        return found

    def _find_trained_name(self, name: str, missing: Callable[[], ServiceError]) -> ServedTokenizer | None:
        hashes = self._hashes(name)
        if len(hashes) > 1:
            ways = ", ".join(f"{name}@{hash}" for hash in hashes[:_MOST_WAYS])
            detail = f"several trained tokenizers are called {quote(name)}; say which by its hash: {ways}"
            raise ServiceError("tokenizer_ambiguous", detail, "tokenizer")
        return self._find_trained(f"{name}@{hashes[0]}", missing) if hashes else None

    def _find_trained(self, reference: str, missing: Callable[[], ServiceError]) -> ServedTokenizer | None:
        trained = self._trained
        if trained is None or _HASHED.fullmatch(reference) is None:
            return None
        name, at, hash = reference.rpartition("@")
        wanted = (name if at else None), hash
        found = trained.opened(*wanted)
        if found is None:

            def open() -> None:
                if trained.open(*wanted) is None:
                    raise missing()

            raise Unopened(reference, open)
        return found

    def of_model(self, model: str | None) -> ServedTokenizer:
        """Find the tokenizer of a model: by a name of the settings, or by what is a reference anyway.

        Errors:
            ``tokenizer_not_found``, ``tokenizer_ambiguous``; Unopened
        """
        if model is None:
            return self.default

        def missing() -> ServiceError:
            names = ", ".join([*self.models, self._names()][:10])
            return ServiceError(
                "tokenizer_not_found",
                # vLLM's own words come first: its clients look for them.
                f"The model `{quote(model)[1:-1]}` does not exist. There are {names}, and the setting models adds names"
                f"{self._near(model)}",
                "model",
            )

        found = self._find(model, missing)
        if found is None:
            raise missing()
        return found

    def _index(self) -> dict[str, ServedTokenizer]:
        index: dict[str, ServedTokenizer] = {}
        for loaded in self.loaded:
            if loaded.name in index:
                raise InvalidSetting("artifacts", f"has two named {quote(loaded.name)}; rename one or leave it out")
            index[loaded.name] = loaded
            index[f"{loaded.name}@{loaded.hash}"] = loaded
            # Of two artifacts with one hash the first answers: a text has the same ids in both.
            index.setdefault(loaded.hash, loaded)
        return index

    def _near(self, word: str) -> str:
        return did_you_mean(word, [*(loaded.name for loaded in self.loaded), *self.models])

    def _names(self) -> str:
        names = [loaded.name for loaded in self.loaded]
        return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
