"""All that is served by name: the artifacts of the settings, those added at run time, those of a watched directory.

``open`` makes one immutable ``Registry`` of them. What the one before had open is taken over, so that no tokenizer is
read twice and none loses its piece cache.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from service.errors import quote
from service.registry.additions import Additions, Served, Signature
from service.registry.artifact_dirs import MANIFEST, PUBLISHED
from service.registry.fingerprint import IdOptions
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.registry.trained_tokenizers import Trained, trained_directory
from service.setting_values import InvalidSetting
from service.settings import Settings
from tokenizer_core import InvalidArtifact, SegmentCache, TokdError, Tokenizer

_log = logging.getLogger("tokd")

_Watched = tuple[tuple[str, int, int], ...]
_Stamps = tuple[tuple[str, object], ...]
_Opened = dict[str, tuple[bytes, ServedTokenizer]]
"""By path, with the manifest; it pins every other file, so a directory with the same one holds the same tokenizer."""


class Catalog:
    """Opens registries; of one catalog, one at a time.

    Args:
        refresh: takes up what changed outside of this process; a registry that lacks a name asks for it.
    """

    def __init__(self, settings: Settings, refresh: Callable[[], None] = lambda: None) -> None:
        directory = trained_directory(settings)
        self.additions = Additions(directory / ".tokenizers")
        self._cache_bytes = settings.piece_cache_bytes
        self.segments = SegmentCache(settings.segment_cache_bytes) if settings.segment_cache_bytes else None
        self._options = IdOptions.of(settings)
        self._trained = Trained(directory, settings.max_trained, settings.piece_cache_bytes, self._options)
        self._watched = None if settings.watch is None else Path(settings.watch)
        self._publishes = self._watched is not None and self._watched.resolve() == directory.resolve()
        self._refresh = refresh
        self._opened: _Opened = {}
        self._seen: tuple[Signature, _Watched, _Stamps] = None, (), ()
        self._complaints: dict[str, str] = {}

    def changed(self) -> bool:
        """Tell whether what is on the disk is no longer what was opened last."""
        return self._look() != self._seen

    def pass_over(self) -> None:
        """Take what is on the disk for known, although it cannot be opened: it is tried again once it changes."""
        self._seen = self._look()

    def open(
        self,
        settings: Settings,
        served: Served | None = None,
        *,
        again: bool = False,
        lenient: bool = False,
        may_lack: Container[str] | None = None,
    ) -> Registry:
        """Open and verify what is served.

        Args:
            served: what is to be added, if not what the file of additions says.
            again: look at the artifacts of the settings again, which are opened only once otherwise.
            lenient: leave out a model of the settings whose tokenizer is gone, as an alias always is.
            may_lack: the only names that may be left out.

        Raises:
            InvalidSetting, and those of ``Tokenizer.open`` for an artifact of the settings. Any other one that cannot
            be opened is left out with its aliases, and the log says why; it is tried again once its files change.
        """
        signature, watched, _ = self._look()
        if served is None:
            served = self.additions.read()
        kept: _Opened = {}
        loaded = [self._open(path, kept, look=again) for path in settings.artifacts]
        complaints: dict[str, str] = {}
        broken: list[tuple[str, object]] = []
        unopened: dict[str, str] = {}
        own = {os.path.realpath(path) for path in settings.artifacts}
        for name, path in self._beside(served):
            if os.path.realpath(path) in own:
                continue
            stamp = _stamp(path)
            try:
                self._add(loaded, name, self._open(path, kept, look=name is None))
            except (TokdError, OSError) as error:
                complaints[path] = str(error)
                broken.append((path, stamp))
                unopened[name or Path(path).name] = f"{path} cannot be opened: {error}"
        default = settings.default_tokenizer
        if default in unopened and all(each.name != default for each in loaded):
            wrong = f"{quote(default)} is damaged: {unopened[default]}; repair it, or name another"
            raise InvalidSetting("default_tokenizer", wrong)
        registry = Registry(
            loaded,
            default,
            settings.models,
            self._trained,
            newer=self._newer,
            aliases=served.aliases,
            lenient=lenient,
        )
        for name, wrong in registry.models.left_out.items():
            if may_lack is not None and name not in may_lack:
                raise InvalidSetting("models", wrong)
        complaints |= {quote(name): wrong for name, wrong in registry.models.left_out.items()}
        for place, complaint in complaints.items():
            if self._complaints.get(place) != complaint:
                _log.error("%s is not served: %s", place, complaint)
        self._complaints, self._opened, self._seen = complaints, kept, (signature, watched, tuple(broken))
        return registry

    def _newer(self) -> Callable[[], None] | None:
        return self._refresh if self.additions.signature() != self._seen[0] else None

    def _look(self) -> tuple[Signature, _Watched, _Stamps]:
        broken = tuple((path, _stamp(path)) for path, _ in self._seen[2])
        return self.additions.signature(), tuple(self._watch()), broken

    def _watch(self) -> Iterator[tuple[str, int, int]]:
        if self._watched is None:
            return
        try:
            names = sorted(each.name for each in self._watched.iterdir() if self._is_watched(each.name))
        except OSError:
            return
        for name in names:
            try:
                found = (self._watched / name / MANIFEST).stat()
            except OSError:
                # It is no artifact, or not whole yet.
                continue
            yield name, found.st_mtime_ns, found.st_ino

    def _is_watched(self, name: str) -> bool:
        """Leave out hidden directories, and what jobs publish: that is found by its hash, which may be a secret."""
        return not (name.startswith(".") or (self._publishes and PUBLISHED.fullmatch(name)))

    def _beside(self, served: Served) -> Iterator[tuple[str | None, str]]:
        for name, directory in served.tokenizers.items():
            yield name, str(self.additions.directory / directory)
        for directory, _, _ in self._watch():
            yield None, os.path.join(self._watched or "", directory)  # noqa: PTH118

    def _open(self, path: str, kept: _Opened, *, look: bool) -> ServedTokenizer:
        """Open an artifact, or take over what is open; ``look`` tells whether it may have changed on the disk."""
        found = self._opened.get(path)
        if look or found is None:
            try:
                manifest = (Path(path) / MANIFEST).read_bytes()
            except OSError:
                manifest = b""
            if found is None or found[0] != manifest:
                tokenizer = Tokenizer.open(path, cache_bytes=self._cache_bytes)
                found = manifest, ServedTokenizer(tokenizer, path, options=self._options, segments=self.segments)
        kept[path] = found
        return found[1]

    def _add(self, loaded: list[ServedTokenizer], name: str | None, found: ServedTokenizer) -> None:
        if name is not None and found.name != name:
            raise InvalidArtifact(f"it is called {quote(found.name)}, not {quote(name)}")
        if any(each.name == found.name and each.fingerprint != found.fingerprint for each in loaded):
            raise InvalidArtifact(f"another tokenizer is called {quote(found.name)}")
        # In a watched directory may lie what the settings name, or a copy of it.
        if all(each.name != found.name for each in loaded):
            loaded.append(found)


def _stamp(directory: str) -> object:
    """Return what differs once the files of a directory are repaired."""
    try:
        found = [(each.name, each.stat()) for each in os.scandir(directory)]
    except OSError:
        return None
    return sorted((name, status.st_ctime_ns, status.st_size) for name, status in found)
