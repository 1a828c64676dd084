"""Run the service under uvicorn: one process or several, on a port or a unix socket."""

from __future__ import annotations

import ctypes
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import FrameType
from typing import Any, NoReturn

import uvicorn
from uvicorn.supervisors import Multiprocess

from service.admission.limits import Limits
from service.app import App, create_app
from service.auth.address import require_keys
from service.auth.guard import Guard
from service.hot_reload import HotReload
from service.http.bounds import END_SECONDS
from service.http.connection import Connection
from service.job_process.control import end_with_parent
from service.jobs.opening import beside_worker, open_jobs
from service.log_lines import configure_logging
from service.registry.places import warn_of_old_settings
from service.registry.registry import Registry
from service.setting_values import InvalidSetting
from service.settings import HANDED_ON, Settings
from service.state import CurrentState
from service.telemetry.metrics import DIRECTORY_VARIABLE
from tokenizer_core import TokdError

SHUTDOWN_SECONDS = END_SECONDS + 2
"""After so long uvicorn cancels what is still under way; connections have been given up by then."""

HUNG_SECONDS = 30
"""Seconds without a sign after which one of several processes is killed and replaced. A new one gives none until its
imports are done, which on a busy machine takes longer than uvicorn's 5 seconds: each would be killed too early.
"""

_RELOADED = "settings.json"
"""The file by which the settings that SIGHUP brought reach the processes."""

_log = logging.getLogger("uvicorn.error")


def run(settings: Settings, load: Callable[[], Settings] | None = None) -> None:
    """Serve until a signal ends it; SIGTERM is the ordinary end, with status 0.

    Args:
        load: reads the settings again, at SIGHUP; without it they are the same, and only artifacts may be others.

    Raises:
        InvalidSetting, Unsupported, and those of ``Tokenizer.open``, before any socket is opened.
    """
    require_keys(settings)
    _require_standard_streams()
    configure_logging()
    _log.addFilter(_with_page)
    # A terminal that closes would end the process before it is set up.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    read = load or (lambda: settings)
    # uvicorn raises the signal that ended it again; without a handler the process would die before it has tidied up.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with _unix_socket(settings) as bound:
            options = _options(settings) if bound is None else {**_options(settings), "fd": bound.fileno()}
            if settings.workers == 1:
                give_back_large()
                app = _gc_frozen(create_app(settings))
                _say_tokenizers(settings, app.server_state.registry)
                with beside_worker(settings):
                    uvicorn.run(partial(_with_signals, app, read), factory=True, **options)
            else:
                _run_workers(settings, options, read)
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_tokenizers(settings: Settings, registry: Registry) -> None:
    warn_of_old_settings(settings)
    names = (f"{each.name} (the default)" if each is registry.default else each.name for each in registry.loaded)
    _log.info("serves %s", ", ".join(names))


def _with_page(record: logging.LogRecord) -> bool:
    """Add the address of the page to uvicorn's line about where it listens, which alone knows the port."""
    if record.msg.startswith("Uvicorn running on %s://") and len(given := tuple(record.args or ())) == 3:
        # No browser opens the address that stands for all.
        host = {"0.0.0.0": "localhost", "::": "localhost"}.get(str(given[1]), str(given[1]))  # noqa: S104
        host = f"[{host}]" if ":" in host else host
        record.msg, record.args = f"{record.getMessage()}; the page is http://{host}:{given[2]}/", ()
    return True


def _require_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed, as in ``tokd serve <&- 2>&-``.

    uvicorn would not start without an output, and what is opened next, such as a connection, would take their numbers,
    at which libuv aborts the process.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode))


@contextmanager
def _unix_socket(settings: Settings) -> Iterator[socket.socket | None]:
    """Open the unix socket of the settings, if they have one, and remove it in the end.

    uvicorn would open it to all and then change that; it takes one that is open instead.
    """
    if settings.uds is None:
        yield None
        return
    path = Path(settings.uds)
    _remove_stale_socket(path)
    with socket.socket(socket.AF_UNIX) as bound:
        mask = os.umask(0o777 ^ int(settings.uds_mode, 8))
        try:
            bound.bind(str(path))
        except OSError as error:
            raise InvalidSetting("uds", f"{path}: {str(error.strerror).lower()}; name another path") from None
        finally:
            os.umask(mask)
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _run_workers(settings: Settings, options: dict[str, Any], load: Callable[[], Settings]) -> None:
    # Every process verifies what it is given for itself; this one does it first, so that an error is reported once.
    served = HotReload(CurrentState(), settings).open(settings)
    if (jobs := open_jobs(settings)) is not None:
        jobs.close()
    Guard(settings.keys, lambda *_: None)
    _say_tokenizers(settings, served)
    os.environ.update(settings.environment())
    with _metrics_directory() as directory:
        os.environ[DIRECTORY_VARIABLE] = directory
        config = uvicorn.Config(f"{__name__}:create_worker", factory=True, workers=settings.workers, **options)
        with beside_worker(settings):
            _Processes(config, load, Path(directory, _RELOADED)).run()


def _metrics_directory() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="tokd-metrics-")
    except OSError as error:
        wrong = f"above 1 needs a directory for temporary files: {error.strerror}; set TMPDIR to one"
        raise InvalidSetting("workers", wrong) from None


class _Processes(Multiprocess):
    """uvicorn's processes; the line that says where they listen is logged once one of them answers, not before."""

    def __init__(self, config: uvicorn.Config, load: Callable[[], Settings], handed: Path) -> None:
        self._log, self._load, self._handed = _log, load, handed
        self._running: list[logging.LogRecord] = []
        self._log.addFilter(self._hold_back)
        try:
            bound = config.bind_socket()
        finally:
            self._log.removeFilter(self._hold_back)
        super().__init__(config, [bound])
        _interrupt_twice(self._end_at_once)

    def _end_at_once(self, *_: object) -> NoReturn:
        """End the processes, which the terminal's Ctrl+C would reach by itself, and tidy up behind them."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for process in self.processes:
            process.kill()
        raise KeyboardInterrupt

    def init_processes(self) -> None:
        """Start the processes deaf to a closed terminal, which they are anyway once their imports are done."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            super().init_processes()
        finally:
            signal.signal(signal.SIGHUP, before)

    def _hold_back(self, record: logging.LogRecord) -> bool:
        if record.levelno == logging.INFO:
            self._running.append(record)
        return record.levelno != logging.INFO

    def handle_hup(self) -> None:
        """Read the settings again, and let the processes take them up; none of them is restarted."""
        threading.Thread(target=self._reload, name="tokd-reload", daemon=True).start()

    def _reload(self) -> None:
        try:
            settings = self._load()
            # Held against what is on the disk once, so that an error is reported once.
            HotReload(CurrentState(), settings).open(settings)
            given = settings.environment()
            self._hand_on(given[HANDED_ON])
        except (InvalidSetting, TokdError, OSError) as error:
            self._log.error("SIGHUP: the settings from before stay in force: %s", error)
            return
        # Processes that start later start with these settings.
        os.environ.update(given)
        for process in self.processes:
            if process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGHUP)

    def _hand_on(self, text: str) -> None:
        with NamedTemporaryFile("w", dir=self._handed.parent, prefix=".", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                Path(file.name).replace(self._handed)
            except OSError:
                Path(file.name).unlink()
                raise

    def terminate_all(self) -> None:
        """End the processes; as long as this one listened, callers could connect, and nobody would answer them."""
        for bound in self.sockets:
            bound.close()
        super().terminate_all()
        # While they drain, the next one ends the wait of each.
        signal.signal(signal.SIGTERM, lambda *_: super(_Processes, self).terminate_all())

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        if self._running and any(process.is_ready() for process in self.processes):
            self._log.handle(self._running.pop())


def _remove_stale_socket(path: Path) -> None:
    """Remove the socket of a server that died; never that of one that lives, nor any other file."""
    if not path.exists():
        return
    if not path.is_socket():
        raise InvalidSetting("uds", f"{path} is a file that is not a socket; name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InvalidSetting("uds", f"{path}: another server listens there; end it or name another path")


def create_worker() -> App:
    """Build the application of one of several processes, from the environment that ``run`` gave it."""
    # If the one above them is killed, they would go on, and hold the address against the next server.
    end_with_parent(signal.SIGTERM)
    above = multiprocessing.parent_process()
    if above is not None and not above.is_alive():
        # It was killed during the imports of this one, and no signal comes any more.
        sys.exit(0)
    configure_logging()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    give_back_large()
    settings = Settings.load()
    handed = Path(os.environ[DIRECTORY_VARIABLE], _RELOADED)

    def load() -> Settings:
        # The one above reads settings, and hands them on; a terminal that is closed tells all of them.
        return Settings.load({HANDED_ON: handed.read_text()}) if handed.exists() else settings

    return _with_signals(_gc_frozen(create_app(settings)), load)


def _with_signals(app: App, load: Callable[[], Settings]) -> App:
    """Have a process drain before it ends, and end at once at a second signal; called under uvicorn's own handlers.

    Args:
        load: reads the settings again at SIGHUP.
    """
    settings, limits = app.server_state.settings, app.server_state.limits
    app.read_settings = load
    if settings.drain_seconds:
        signal.signal(signal.SIGTERM, partial(_drain, limits, settings.drain_seconds, signal.getsignal(signal.SIGTERM)))
    _interrupt_twice(signal.SIG_DFL)
    return app


def _drain(limits: Limits, seconds: int, end: Any, number: int, frame: FrameType | None) -> None:
    """Say that this server ends, and end it after some seconds, or at a second signal."""
    if limits.is_draining:
        end(number, frame)
        return
    limits.is_draining = True
    timer = threading.Timer(seconds, end, (number, None))
    timer.daemon = True
    timer.start()


def _interrupt_twice(at_once: Any) -> None:
    """Make a second Ctrl+C end a process at once; it is called under uvicorn's own handlers.

    uvicorn would cancel what is under way, and log a traceback of each request and of itself; over several processes it
    would wait for them.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_end_at_the_next, signal.getsignal(number), at_once))


def _end_at_the_next(end: Any, at_once: Any, number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, at_once)
    end(number, frame)


def _gc_frozen(app: App) -> App:
    """Keep the garbage collector off all that a server starts with: going through it would hold up every request."""
    gc.collect()
    gc.freeze()
    return app


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "http": Connection,
        "loop": "uvloop",
        "ws": "none",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": settings.keep_alive_seconds,
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
        "timeout_worker_healthcheck": HUNG_SECONDS,
    }


_MALLOPT = {-8: 2, -3: 512 << 10, -1: 1 << 20}
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""


def give_back_large() -> None:
    """Let large blocks go back to the system once they are freed; by default glibc keeps them, an arena a thread."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for parameter, value in _MALLOPT.items():
            mallopt(parameter, value)
