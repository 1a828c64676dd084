"""The names of models: what callers call a tokenizer, exactly (``Qwen/Qwen2.5-7B``) or by a pattern (``Qwen/*``)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from service.errors import quote
from service.registry.served import ServedTokenizer
from service.setting_values import InvalidSetting

HASH = r"sha256:[0-9a-f]{64}"
_PINNED = re.compile(rf"(?:.*@)?{HASH}", re.DOTALL)


class Models:
    """Immutable; an exact name wins over patterns, and of these the one with the most characters beside ``*``.

    Args:
        settings: ``model=reference``; a reference may be another exact name.
        by_reference: the tokenizers that are loaded, by name, hash and both.
        aliases: more of the same that was said at run time. What it means may be damaged or gone by now, or be another
            name of the settings: such an alias is left out.
        lenient: leave out what the settings name too, instead of an error.

    Raises:
        InvalidSetting: a name has two meanings, or none.
    """

    def __init__(
        self,
        settings: Sequence[str],
        by_reference: Mapping[str, ServedTokenizer],
        aliases: Mapping[str, str] = MappingProxyType({}),
        *,
        lenient: bool = False,
    ) -> None:
        self.left_out: dict[str, str] = {}
        """Names without a tokenizer now, and why."""
        given, found = _read(settings), dict[str, ServedTokenizer]()
        for name, reference in aliases.items():
            try:
                _put(given, name, reference)
            except InvalidSetting as error:
                self.left_out[name] = error.wrong
        for name in given:
            try:
                found[name] = _resolve(name, given, by_reference)
            except InvalidSetting as error:
                if name not in aliases and not lenient:
                    raise
                self.left_out[name] = error.wrong
        self._meanings = found
        self._exact = {name: loaded for name, loaded in found.items() if "*" not in name}
        patterns = sorted((name for name in found if "*" in name), key=lambda name: name.count("*") - len(name))
        self._patterns = tuple((matcher(name), found[name]) for name in patterns)

    def __iter__(self) -> Iterator[str]:
        """Iterate over names and patterns in the order of the settings."""
        return iter(self._meanings)

    def of(self, loaded: ServedTokenizer) -> list[str]:
        """Return the names and patterns that mean a tokenizer."""
        return [name for name, meant in self._meanings.items() if meant is loaded]

    def exact(self, name: str) -> ServedTokenizer | None:
        """Find what has a name; also ``name@hash``, where the name may match a pattern and the hash must be right."""
        found = self._exact.get(name)
        if found is not None or not _PINNED.fullmatch(name):
            return found
        model, _, hash = name.rpartition("@")
        found = self._exact.get(model) or self.matching(model)
        return found if found is not None and found.hash == hash else None

    def matching(self, name: str) -> ServedTokenizer | None:
        """Find what a pattern gives a name; a hash is never a name."""
        if not name or _PINNED.fullmatch(name):
            return None
        return next((loaded for matches, loaded in self._patterns if matches(name)), None)


def matcher(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a name is one of a pattern, in which ``*`` is any text."""
    # fnmatch cuts each search at its first success, so many stars take no longer than many letters.
    return re.compile(fnmatch.translate(re.sub(r"([?[])", r"[\1]", pattern))).match


def _read(settings: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for setting in settings:
        name, _, reference = setting.rpartition("=")
        if not name:
            raise InvalidSetting("models", f"has {quote(setting)}; write model=tokenizer")
        _put(given, name, reference)
    return given


def _put(given: dict[str, str], name: str, reference: str) -> None:
    """Add a name.

    Raises:
        InvalidSetting: it is a hash, or has another meaning already.
    """
    if _PINNED.fullmatch(name):
        raise InvalidSetting("models", f"has {quote(name)}, a hash, which means one tokenizer for ever")
    if given.setdefault(name, reference) != reference:
        raise InvalidSetting("models", f"gives {quote(name)} both to {given[name]} and to {reference}")


def _resolve(name: str, given: Mapping[str, str], by_reference: Mapping[str, ServedTokenizer]) -> ServedTokenizer:
    way = [name]
    while (reference := given[way[-1]]) not in by_reference:
        if reference in way:
            raise InvalidSetting("models", f"goes round in a circle: {' = '.join([*way, reference])}")
        if "*" in reference or reference not in given:
            names = ", ".join(dict.fromkeys(loaded.name for loaded in by_reference.values()))
            setting = f"{way[-1]}={reference}"
            raise InvalidSetting("models", f"has {quote(setting)}; write model=tokenizer, with one of {names}")
        way.append(reference)
    if by_reference.get(name, by_reference[reference]) is not by_reference[reference]:
        raise InvalidSetting("models", f"gives {quote(name)} to another tokenizer than the one of this name")
    return by_reference[reference]
