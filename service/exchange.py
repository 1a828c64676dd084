"""Exchange the tokenizers and settings of a running server, whole: no request ever sees a half of a new state.

Everything that can fail, and everything slow, is done before the exchange and beside it. The exchange itself is one
assignment (``Current.state``). What fails leaves the state from before in force.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from service.errors import ServiceError, quote
from service.job_process.disk import written
from service.registry.additions import Additions, Served
from service.registry.catalog import Catalog
from service.registry.engines import Engines
from service.registry.registry import Registry
from service.registry.served import ServedTokenizer
from service.setting_values import InvalidSetting
from service.settings import Settings
from service.state import Current
from tokenizer_core import TokdError, Tokenizer

RELOADED = (
    "artifacts",
    "default_tokenizer",
    "models",
    "render",
    "uncountable",
)
"""Settings that take effect while the server runs; all others are used where they cannot be exchanged."""

SWEEP_SECONDS = 60.0
"""Time until a process looks again for uploads that a killed one has left."""

_log = logging.getLogger("uvicorn.error")


class Exchange:
    """Changes what one process serves; its calls wait for the disk and for each other, so they belong into threads.

    Args:
        current: where the state is exchanged.
        catalog: opens what is served.
    """

    def __init__(self, current: Current, catalog: Catalog) -> None:
        self._current, self._catalog = current, catalog
        self._lock = threading.Lock()
        self._complaint = ""
        self._waiting_reloads = 0
        self._sweep_at = 0.0

    @property
    def additions(self) -> Additions:
        """The file of what was added."""
        return self._catalog.additions

    def follow(self) -> None:
        """Take up what another process added, or what came into the watched directory; sweep now and then."""
        if time.monotonic() >= self._sweep_at:
            self._sweep_at = time.monotonic() + SWEEP_SECONDS
            self.additions.sweep()
        with self._lock:
            if not self._catalog.changed():
                return
            try:
                self._take(self._catalog.open(self._current.state.settings, lenient=True))
                self._complaint = ""
            except (InvalidSetting, TokdError, OSError) as error:
                self._catalog.pass_over()
                if str(error) != self._complaint:
                    self._complaint = str(error)
                    _log.error("the tokenizers from before stay in force: %s", error)

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
                registry = self._catalog.open(settings, again=True, may_lack=state.registry.models.left_out)
                engines = Engines(settings)
            except (InvalidSetting, TokdError, OSError) as error:
                _log.error("SIGHUP: the settings from before stay in force: %s", error)
                return False
            self._current.state = replace(state, settings=settings, registry=registry, engines=engines)
            state.metrics.note_engine_literals(engines.engine_literals)
            state.guard.reload_if_changed()
            left = [name for name, value in asdict(wanted).items() if value != asdict(settings)[name]]
            if left:
                _log.warning("SIGHUP: a change of %s takes effect at the next start", ", ".join(left))
            _log.info("SIGHUP: reloaded; there are %s", ", ".join(each.name for each in registry.loaded))
            return True

    def add(self, name: str, tokenizer: Tokenizer, made: Path) -> ServedTokenizer:
        """Serve a tokenizer under a name, in all processes and after a restart.

        Args:
            made: where its artifact is written first; on the disk of the additions.

        Errors:
            ``tokenizer_exists``
        """

        def added(served: Served) -> Served:
            self._refuse_taken(name, served)
            directory = self._catalog.additions.keep(tokenizer, name, made)
            return replace(served, tokenizers={**served.tokenizers, name: directory})

        return self._change(added).get(name)

    def remove(self, name: str) -> None:
        """Stop serving a tokenizer that was added, or an alias.

        Errors:
            ``tokenizer_not_found``; ``tokenizer_in_use``: an alias means it, or it is not one that was added.
        """
        dropped: list[str] = []

        def removed(served: Served) -> Served:
            if name in served.aliases:
                return replace(served, aliases=_without(served.aliases, name))
            if name in served.tokenizers:
                for alias, reference in served.aliases.items():
                    if reference.partition("@")[0] == name:
                        raise _in_use(f"the alias {quote(alias)} means it; remove or move that first")
                left = _without(served.tokenizers, name)
                if served.tokenizers[name] not in left.values():
                    dropped.append(served.tokenizers[name])
                return replace(served, tokenizers=left)
            registry = self._current.state.registry
            if name in registry.models or any(each.name == name for each in registry.loaded):
                raise _in_use(
                    f"{quote(name)} is one of the settings or of the watched directory; take it out there", "tokenizer"
                )
            raise ServiceError("tokenizer_not_found", f"nothing called {quote(name)} was added", "tokenizer")

        self._change(removed)
        for directory in dropped:
            self._catalog.additions.drop(directory)

    def point(self, alias: str, reference: str) -> ServedTokenizer:
        """Let an alias mean a tokenizer that is loaded.

        Errors:
            ``tokenizer_exists``: the alias is a name already. ``tokenizer_not_found``
        """

        def pointed(served: Served) -> Served:
            if alias not in served.aliases:
                self._refuse_taken(alias, served)
            return replace(served, aliases={**served.aliases, alias: reference})

        return self._change(pointed).of_model(alias)

    def _refuse_taken(self, name: str, served: Served) -> None:
        registry = self._current.state.registry
        if name in served.aliases or name in registry.models or any(each.name == name for each in registry.loaded):
            detail = f"there is a tokenizer or model {quote(name)}; take another name, or remove that one first"
            raise ServiceError("tokenizer_exists", detail, "name")

    def _change(self, make: Callable[[Served], Served]) -> Registry:
        """Change the file of additions; a state that could not be opened is never written.

        Errors:
            ``tokenizer_in_use``, ``artifact_damaged``, ``disk_full``, ``disk_unwritable``, and those of ``make``.
        """
        additions = self._catalog.additions
        with self._lock, written("tokenizers"), additions.locked():
            settings = self._current.state.settings
            try:
                if self._catalog.changed():
                    # The changes of another process count before those of this one.
                    self._take(self._catalog.open(settings, lenient=True))
                before = additions.read()
            except (InvalidSetting, TokdError) as error:
                _log.error("no tokenizer can be added or removed: %s", error)
                detail = "the list of added tokenizers on this server is damaged; the server's log says how"
                raise ServiceError("artifact_damaged", detail) from None
            additions.put_aside(before)
            served = before
            try:
                served = make(before)
                left_out = self._current.state.registry.models.left_out
                registry = self._catalog.open(settings, served, lenient=True, may_lack=left_out)
                additions.write(served)
            except BaseException as error:
                for directory in {*served.tokenizers.values()} - {*before.tokenizers.values()}:
                    additions.drop(directory)
                if isinstance(error, InvalidSetting):
                    raise _in_use(f"this would break the names of models: {error.wrong}") from None
                raise
            self._take(registry)
            return registry

    def _take(self, registry: Registry) -> None:
        self._current.state = replace(self._current.state, registry=registry)


def _without(table: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in table.items() if key != name}


def _in_use(detail: str, path: str | None = None) -> ServiceError:
    return ServiceError("tokenizer_in_use", detail, path)
