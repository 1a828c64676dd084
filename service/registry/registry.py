"""The tokenizers of a server, found by name, hash, ``name@hash``, or the name of a model.

A reference is looked up in a table that was filled at start-up, and hashes among the trained tokenizers that are open:
it never touches a file, and a part of a hash finds nothing. For the hash of one that is not open yet, ``get`` raises
``Unopened``, and whoever can wait for the disk opens it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from service.errors import ServiceError, quote
from service.registry.models import HASH, Models
from service.registry.served import ServedTokenizer
from service.registry.trained_tokenizers import Trained, trained_directory
from service.setting_values import InvalidSetting
from service.settings import Settings
from tokenizer_core import Tokenizer, did_you_mean

_NAME = r"[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9_-])?"
_REFERENCE = re.compile(rf"{_NAME}|{HASH}|{_NAME}@{HASH}")
_HASHED = re.compile(rf"{HASH}|{_NAME}@{HASH}")
_MODEL = re.compile(r"[a-z0-9][\w.:-]*(?:/[a-z0-9][\w.:-]*)+", re.ASCII | re.IGNORECASE)
"""A name that the setting ``models`` might have: it is unknown rather than wrong."""

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
"""Names of devices on Windows: an artifact of this name could be unpacked nowhere."""


class Unopened(Exception):
    """A trained tokenizer may have this hash, but it is not open; ``open`` does that, and waits for the disk."""

    def __init__(self, reference: str, open: Callable[[], None]) -> None:
        super().__init__(reference)
        self.reference, self.open = reference, open


class Registry:
    """An immutable set of tokenizers, and those that jobs trained.

    Args:
        tokenizers: by the path they were opened at, in the order of the settings; no two of one name.
        default: a reference to one of them; the first if ``None``.
        models: ``model=reference``: further names of tokenizers, and patterns of names.
        trained: where further tokenizers are found, by hash.
    """

    def __init__(
        self,
        tokenizers: Mapping[str, Tokenizer],
        default: str | None = None,
        models: Sequence[str] = (),
        trained: Trained | None = None,
    ) -> None:
        self._trained = trained
        self.loaded = tuple(ServedTokenizer(tokenizer, path) for path, tokenizer in tokenizers.items())
        self._by_reference: Mapping[str, ServedTokenizer] = self._index()
        self.models = Models(models, self._by_reference)
        chosen = self.loaded[0] if default is None else self._named(default)
        if chosen is None:
            raise InvalidSetting("default_tokenizer", f"{quote(default)} is none of the loaded: {self._names()}")
        self.default = chosen

    @classmethod
    def open(cls, settings: Settings) -> Registry:
        """Open and verify artifact directories; one that is not what its manifest pins is an error of the core."""
        cache_bytes = settings.piece_cache_bytes
        tokenizers = {path: Tokenizer.open(path, cache_bytes=cache_bytes) for path in settings.artifacts}
        trained = Trained(trained_directory(settings), settings.max_trained, cache_bytes)
        return cls(tokenizers, settings.default_tokenizer, settings.models, trained)

    def get(self, reference: str | None) -> ServedTokenizer:
        """Find a tokenizer.

        Errors:
            ``invalid_name``: this can be no reference. ``tokenizer_not_found``: nothing of this name or hash is loaded.
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
        return self._named(reference) or self._find_trained(reference, missing) or self.models.matching(reference)

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
            ``tokenizer_not_found``; Unopened
        """
        if model is None:
            return self.default

        def missing() -> ServiceError:
            names = ", ".join([*self.models, self._names()][:10])
            return ServiceError(
                "tokenizer_not_found",
                f"the model {quote(model)} does not exist; there are {names}, and the setting models adds names"
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
