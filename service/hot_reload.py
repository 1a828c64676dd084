"""All that is served by name, and its change while the server runs.

``HotReload.open`` makes one immutable ``Registry`` of the artifacts of the settings and those of the directory of
tokenizers. What the one before had open is taken over, so that no tokenizer is read twice and none loses its piece
cache. Everything that can fail, and everything slow, is done before a change and beside it. The change itself is one
assignment (``CurrentState.state``): no request ever sees a half of a new state, and what fails leaves the one from
before.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from service.errors import ServiceError, quote
from service.job_process.disk import written
from service.registry.artifact_dirs import MANIFEST
from service.registry.directory import Contents, TokenizersDirectory, name_of
from service.registry.engines import Engines
from service.registry.incoming import UPLOADS, sweep
from service.registry.registry import Registry
from service.registry.served import IdOptions, ServedTokenizer
from service.registry.trained_tokenizers import Trained
from service.setting_values import InvalidSetting
from service.settings import Settings
from service.state import CurrentState
from tokenizer_core import InvalidArtifact, SegmentCache, TokdError, Tokenizer

RELOADED = (
    "artifacts",
    "default_tokenizer",
    "models",
    "render",
    "uncountable",
)
"""Settings that take effect while the server runs; all others are used where they cannot be changed."""

SWEEP_SECONDS = 60.0
"""Time until a process looks again for uploads that a killed one has left."""

_log, _tokd_log = logging.getLogger("uvicorn.error"), logging.getLogger("tokd")

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Opened = dict[str, tuple[bytes, ServedTokenizer]]
"""By path, with the manifest; it pins every other file, so a directory with the same one holds the same tokenizer."""


class HotReload:
    """Opens and changes what one process serves; its calls wait for the disk and each other, so they need threads.

    Args:
        current: where the state is, once ``open`` has given its registry.
    """

    def __init__(self, current: CurrentState, settings: Settings) -> None:
        self.directory = TokenizersDirectory(settings)
        self._current, self._cache_bytes, self._options = current, settings.piece_cache_bytes, IdOptions.of(settings)
        self.segments = SegmentCache(settings.segment_cache_bytes) if settings.segment_cache_bytes else None
        self._trained = Trained(self.directory.path, settings.max_trained, self._cache_bytes, self._options)
        self._opened: _Opened = {}
        self._seen: object = None
        self._complaints: dict[str, str] = {}
        self._lock = threading.Lock()
        self._waiting_reloads = 0
        self._sweep_at = 0.0

    def open(
        self,
        settings: Settings,
        contents: Contents | None = None,
        *,
        again: bool = False,
        lenient: bool = False,
        may_lack: Container[str] | None = None,
    ) -> Registry:
        """Open and verify what is served; once there is a state, the caller holds the lock.

        Args:
            contents: what is to be in the directory, if not what is there.
            again: look at the artifacts of the settings again, which are opened only once otherwise.
            lenient: leave out a model of the settings whose tokenizer is gone, as an alias always is.
            may_lack: the only names that may be left out.

        Raises:
            InvalidSetting, and those of ``Tokenizer.open`` for an artifact of the settings. Any other one that cannot
            be opened is left out with its aliases, and the log says why; it is tried again once its files change.
        """
        seen = self.directory.look()
        contents = self.directory.read() if contents is None else contents
        kept: _Opened = {}
        loaded = [self._open_one(path, path, kept, look=again) for path in settings.artifacts]
        complaints: dict[str, str] = {}
        unopened: dict[str, str] = {}
        own = {os.path.realpath(path) for path in settings.artifacts}
        added = [(name_of(place), str(place), str(now)) for place, now in contents.added.items()]
        for name, path, now in [*added, *((None, path, path) for path in map(str, contents.operators))]:
            if os.path.realpath(path) in own:
                continue
            try:
                _add(loaded, name, self._open_one(path, now, kept, look=name is None or now != path))
            except (TokdError, OSError) as error:
                complaints[path] = str(error)
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
            newer=lambda: None if self.directory.is_current(self._seen) else self.follow,
            hashes=self.directory.hashes,
            aliases=contents.aliases,
            lenient=lenient,
        )
        for name, wrong in registry.models.left_out.items():
            if may_lack is not None and name not in may_lack:
                raise InvalidSetting("models", wrong)
        complaints |= {quote(name): wrong for name, wrong in registry.models.left_out.items()}
        for place, complaint in complaints.items():
            if self._complaints.get(place) != complaint:
                _tokd_log.error("%s is not served: %s", place, complaint)
        self._complaints, self._opened, self._seen = complaints, kept, seen
        return registry

    def _open_one(self, path: str, now: str, kept: _Opened, *, look: bool) -> ServedTokenizer:
        """Open an artifact, or take over what is open.

        Args:
            now: where it lies until it is put into its place.
            look: it may have changed on the disk.
        """
        found = self._opened.get(path)
        if look or found is None:
            try:
                manifest = (Path(now) / MANIFEST).read_bytes()
            except OSError:
                manifest = b""
            if found is None or found[0] != manifest:
                tokenizer = Tokenizer.open(now, cache_bytes=self._cache_bytes)
                found = manifest, ServedTokenizer(tokenizer, path, options=self._options, segments=self.segments)
        kept[path] = found
        return found[1]

    def follow(self) -> None:
        """Take up what came into the directory; sweep now and then."""
        if time.monotonic() >= self._sweep_at:
            self._sweep_at = time.monotonic() + SWEEP_SECONDS
            sweep(self.directory.added, UPLOADS)
        # Without a change no request waits for a reload.
        if self.directory.look() == self._seen:
            return
        with self._lock:
            try:
                self._catch_up()
            except (InvalidSetting, TokdError, OSError) as error:
                # It is tried again once it changes.
                self._seen = self.directory.look()
                _log.error("the tokenizers from before stay in force: %s", error)

    def _catch_up(self) -> None:
        if self.directory.look() != self._seen:
            self._take(self.open(self._current.state.settings, lenient=True))

    def reload(self, load: Callable[[], Settings]) -> bool:
        """Read settings again and open their artifacts; tell whether they are in force. What is wrong is logged.

        Of several calls that wait, one is enough: it reads what is there when it begins.
        """
        if self._waiting_reloads:
            return False
        self._waiting_reloads += 1
        with self._lock:
            self._waiting_reloads -= 1
            state = self._current.state
            try:
                wanted = load()
                settings = replace(state.settings, **{name: getattr(wanted, name) for name in RELOADED})
                registry = self.open(settings, again=True, may_lack=state.registry.models.left_out)
                engines = Engines(settings)
            except (InvalidSetting, TokdError, OSError) as error:
                _log.error("SIGHUP: the settings from before stay in force: %s", error)
                return False
            self._current.state = replace(state, settings=settings, registry=registry, engines=engines)
            state.metrics.engine_literals.set(engines.engine_literals)
            state.guard.reload_if_changed()
            left = [name for name, value in asdict(wanted).items() if value != asdict(settings)[name]]
            if left:
                _log.warning("SIGHUP: a change of %s takes effect at the next start", ", ".join(left))
            _log.info("SIGHUP: reloaded; there are %s", ", ".join(each.name for each in registry.loaded))
            return True

    def add(self, name: str, tokenizer: Tokenizer, made: Path) -> ServedTokenizer:
        """Serve a tokenizer under a name, in all processes and after a restart.

        Args:
            made: where its artifact is written first; on the disk of the directory.

        Errors:
            ``tokenizer_exists``
        """

        def added(before: Contents) -> Contents:
            self._refuse_taken(name, before)
            tokenizer.save(made, name=name)
            others = _without(before.added, before.of(name))
            return replace(before, added={**others, self.directory.place(tokenizer.hash, name): made})

        return self._change(added).get(name)

    def remove(self, name: str) -> None:
        """Stop serving a tokenizer that was added, or an alias.

        Errors:
            ``tokenizer_not_found``; ``tokenizer_in_use``: an alias means it, or it is not one that was added.
        """

        def removed(before: Contents) -> Contents:
            if name in before.aliases:
                return replace(before, aliases=_without(before.aliases, [name]))
            places, registry = before.of(name), self._current.state.registry
            if not places and (name in registry.models or any(each.name == name for each in registry.loaded)):
                where = "of the settings, or the operator put it into the directory of tokenizers"
                raise _in_use(f"{quote(name)} is one {where}; take it out there", "tokenizer")
            for alias, reference in before.aliases.items():
                if reference.partition("@")[0] == name:
                    raise _in_use(f"the alias {quote(alias)} means it; remove or move that first")
            if not places:
                raise ServiceError("tokenizer_not_found", f"nothing called {quote(name)} was added", "tokenizer")
            return replace(before, added=_without(before.added, places))

        self._change(removed)

    def point(self, alias: str, reference: str) -> ServedTokenizer:
        """Let an alias mean a tokenizer that is loaded.

        Errors:
            ``tokenizer_exists``: the alias is a name already. ``tokenizer_not_found``
        """

        def pointed(before: Contents) -> Contents:
            if alias not in before.aliases:
                self._refuse_taken(alias, before)
            return replace(before, aliases={**before.aliases, alias: reference})

        return self._change(pointed).of_model(alias)

    def _refuse_taken(self, name: str, contents: Contents) -> None:
        registry = self._current.state.registry
        if name in contents.aliases or name in registry.models or any(each.name == name for each in registry.loaded):
            detail = f"there is a tokenizer or model {quote(name)}; take another name, or remove that one first"
            raise ServiceError("tokenizer_exists", detail, "name")

    def _change(self, make: Callable[[Contents], Contents]) -> Registry:
        """Change what came by the routes; a state that could not be opened is never written.

        Errors:
            ``tokenizer_in_use``, ``artifact_damaged``, ``disk_full``, ``disk_unwritable``, and those of ``make``.
        """
        with self._lock, written("tokenizers"), self.directory.locked():
            settings = self._current.state.settings
            try:
                # The changes of another process count before those of this one.
                self._catch_up()
                before = self.directory.read()
            except (InvalidSetting, TokdError) as error:
                _log.error("no tokenizer can be added or removed: %s", error)
                detail = "the list of added tokenizers on this server is damaged; the server's log says how"
                raise ServiceError("artifact_damaged", detail) from None
            after = make(before)
            try:
                left_out = self._current.state.registry.models.left_out
                registry = self.open(settings, after, lenient=True, may_lack=left_out)
            except InvalidSetting as error:
                raise _in_use(f"this would break the names of models: {error.wrong}") from None
            self.directory.change(before, after)
            self._take(registry)
            return registry

    def _take(self, registry: Registry) -> None:
        self._current.state = replace(self._current.state, registry=registry)


def _add(loaded: list[ServedTokenizer], name: str | None, found: ServedTokenizer) -> None:
    if name is not None and found.name != name:
        raise InvalidArtifact(f"it is called {quote(found.name)}, not {quote(name)}")
    if any(each.name == found.name and each.fingerprint != found.fingerprint for each in loaded):
        raise InvalidArtifact(f"another tokenizer is called {quote(found.name)}")
    # In the directory may lie what the settings name, or a copy of it.
    if all(each.name != found.name for each in loaded):
        loaded.append(found)


def _without(table: Mapping[_Key, _Value], keys: Collection[_Key]) -> dict[_Key, _Value]:
    return {key: value for key, value in table.items() if key not in keys}


def _in_use(detail: str, path: str | None = None) -> ServiceError:
    return ServiceError("tokenizer_in_use", detail, path)
