"""Connections to the tables of jobs, in SQLite or Postgres."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, inspect, make_url, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from service.errors import quote
from service.jobs.errors import JobsUnavailable
from service.jobs.schema import JOBS, METADATA, SCHEMA_VERSION
from service.setting_values import InvalidSetting

RETRY_SECONDS = 5
_BUSY_SECONDS = 15
_CONNECT_SECONDS = 5
_SILENT_SECONDS = 10
"""After which a client or a server that the network has cut off is given up, with the locks that it holds: by default
the client waits a quarter of an hour, and the server two hours."""

_BESIDE = ("-wal", "-shm", "-journal")
_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
_SCHEMA_LOCK = 0x746F6B64
"""A number that only tokd locks in a Postgres database: ``tokd`` in ASCII."""

_Identity = tuple[int, int]
_SERVER: _Identity = (0, 0)
"""A server is the same one under its URL."""

_log = logging.getLogger("tokd.jobs")


class Database:
    """Connections to the table, opened when they are first needed.

    Args:
        url: ``sqlite:///path`` or ``postgresql://user@host/database``.

    Raises:
        InvalidSetting: the URL cannot be one of these.
    """

    def __init__(self, url: str | URL) -> None:
        self._url = _parse(url)
        self._open: tuple[Engine, _Identity | None] | None = None
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        """The URL without what may be secret in it: a password, or options that could hold one."""
        return self._url.set(drivername=self._url.get_backend_name(), query={}).render_as_string(hide_password=True)

    @property
    def exists(self) -> bool:
        """True if jobs can exist: without the SQLite file there are none, and asking does not create it.

        Raises:
            JobsUnavailable
        """
        with translated(), self._opening:
            self._let_go_of_another_file()
            file = self._file()
            return file is None or file.exists()

    def verify(self) -> None:
        """Refuse a SQLite file that is damaged, of another application or of a newer version.

        A store that cannot be reached now is not refused; using it later is an error. An empty file is what is left
        where the table could not be made, as on a full disk: the table is made with the first use, and the log says so.

        Raises:
            InvalidSetting
        """
        file = self._file()
        if file is None:
            return
        self._verify_beside(file)
        try:
            is_file = stat.S_ISREG(file.stat().st_mode)
        except FileNotFoundError:
            if file.is_symlink():
                wrong = f"{self.name} is a link to what is not there; mend the link, or name a file"
                raise InvalidSetting("jobs_url", wrong) from None
            return
        except OSError as error:
            raise InvalidSetting("jobs_url", f"{quote(self.name)}: {error.strerror}; name a file") from None
        if not is_file:
            raise InvalidSetting("jobs_url", f"{quote(self.name)} is not a file; name one")
        try:
            # Opened without creating it: a file that is removed meanwhile stays away.
            url = f"{file.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(url, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                # Whoever has just created the file has this lock until the table is in it.
                connection.execute("BEGIN IMMEDIATE")
                tables = {name for (name,) in connection.execute(_TABLES)}
                (version,) = connection.execute("PRAGMA user_version").fetchone()
        except sqlite3.OperationalError:
            return
        except sqlite3.DatabaseError as error:
            said, tables, version = str(error), set(), 0
        if said != "ok":
            raise InvalidSetting(
                "jobs_url", f"{self.name} is not a store of jobs: {said}; put back a copy, or remove it"
            )
        if tables and JOBS.name not in tables:
            wrong = f"{self.name} is the database of another application; name another file"
            raise InvalidSetting("jobs_url", wrong)
        if version > SCHEMA_VERSION:
            raise InvalidSetting("jobs_url", f"{self.name} was made by a newer tokd; update this one, or name another")
        if not tables:
            _log.warning("the store of jobs: %s is empty and begins anew; jobs that only it held are lost", self.name)

    def _verify_beside(self, file: Path) -> None:
        """Refuse what stands in the way of the files that SQLite keeps beside its own.

        Raises:
            InvalidSetting
        """
        for ending in _BESIDE:
            beside = Path(f"{os.path.realpath(file)}{ending}")
            if os.path.lexists(beside) and not beside.is_file():
                wrong = f"{self.name} needs {beside}, which is not a file; remove it"
                raise InvalidSetting("jobs_url", wrong)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Begin a transaction that holds the lock of writers from its start.

        Raises:
            JobsUnavailable
        """
        with translated():
            engine, identity = self._opened()
            with engine.begin() as connection:
                yield connection
        if not self._is_there(identity):
            # The transaction went into a file that no longer has this name.
            _log.error("the store of jobs: %s was taken away while it was written to", self.name)
            raise JobsUnavailable(RETRY_SECONDS)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Run single statements, each for itself.

        Raises:
            JobsUnavailable
        """
        with translated(), self._opened()[0].connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def lock(self, connection: Connection) -> None:
        """Let one transaction at a time add jobs; in SQLite only one writes anyway."""
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})

    def close(self) -> None:
        """Close the connections."""
        with self._opening:
            self._let_go()

    def _let_go(self) -> None:
        if self._open is not None:
            self._open[0].dispose()
            self._open = None

    def _let_go_of_another_file(self) -> None:
        """Open anew where the SQLite file was removed or another one was put there: connections stay with the old one.

        Raises:
            JobsUnavailable: what is there now is not a store of jobs.
        """
        if self._open is None or self._is_there(self._open[1]):
            return
        try:
            self.verify()
        except InvalidSetting as error:
            _log.error("the store of jobs: %s", error)
            raise JobsUnavailable(RETRY_SECONDS) from error
        _log.error("the store of jobs: %s is gone or another file by now; jobs that only it held are lost", self.name)
        self._let_go()

    def _file(self) -> Path | None:
        return Path(str(self._url.database)) if self._url.get_backend_name() == "sqlite" else None

    def _identity(self) -> _Identity | None:
        """Return what distinguishes the SQLite file from others of its name; ``None`` if there is none.

        Its number is not given to another file as long as a connection holds it open, as an engine's pool does.
        """
        file = self._file()
        if file is None:
            return _SERVER
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _is_there(self, opened: _Identity | None) -> bool:
        return opened is not None and opened == self._identity()

    def _opened(self) -> tuple[Engine, _Identity | None]:
        with self._opening:
            self._let_go_of_another_file()
            if self._open is None:
                engine = self._create()
                try:
                    with engine.begin() as connection:
                        self.lock(connection)
                        migrate(connection)
                        METADATA.create_all(connection)
                        for index in JOBS.indexes:
                            # A table that was there before gets none by ``create_all``.
                            index.create(connection, checkfirst=True)
                        if self._file() is not None:
                            connection.exec_driver_sql(f"PRAGMA user_version = {SCHEMA_VERSION}")
                except BaseException:
                    engine.dispose()
                    raise
                self._open = engine, self._identity()
            return self._open

    def _create(self) -> Engine:
        file = self._file()
        if file is None:
            engine = create_engine(
                self._url,
                pool_pre_ping=True,
                pool_size=4,
                connect_args={
                    "connect_timeout": _CONNECT_SECONDS,
                    "keepalives_idle": _SILENT_SECONDS // 2,
                    "keepalives_interval": 1,
                    "keepalives_count": _SILENT_SECONDS // 2,
                    "tcp_user_timeout": _SILENT_SECONDS * 1000,
                },
            )
            event.listen(engine, "connect", _prepare_postgres)
            return engine
        file.parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(self._url, connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine


def _prepare_postgres(connection: Any, _: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{_SILENT_SECONDS}s'")
    connection.commit()


def _prepare_sqlite(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could find that another wrote between.
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _parse(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        backend = ""
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or not parsed.database or parsed.database == ":memory:":
        raise InvalidSetting("jobs_url", "must be sqlite:///path/to/file or postgresql://user@host/database")
    return parsed


@contextmanager
def translated() -> Iterator[None]:
    """Say that the store cannot be reached or written, and why to the log.

    Raises:
        JobsUnavailable
    """
    try:
        yield
    except OSError as error:
        _log.error("the store of jobs: %s: %s", error.filename, error.strerror)
        raise JobsUnavailable(RETRY_SECONDS, str(error.strerror).lower()) from error
    except SQLAlchemyError as error:
        # The text of a statement's error can hold what a caller sent, the driver's words do not.
        driver = error.orig if isinstance(error, DBAPIError) else None
        reason = type(error).__name__ if driver is None else str(driver).strip()
        _log.error("the store of jobs: %s", reason)
        raise JobsUnavailable(RETRY_SECONDS, reason if isinstance(driver, sqlite3.Error) else None) from error


_OLD = f"{JOBS.name}_before_kinds"
_PARTS = "tokd_job_parts"
"""By the rows of this table the workers of an earlier version divided their work."""


def migrate(connection: Connection) -> None:
    """Give every job a kind, in the transaction that opens the store: jobs of before there were kinds train."""
    found = inspect(connection)
    if found.has_table(_PARTS):
        connection.execute(text(f"DROP TABLE {_PARTS}"))
    if not found.has_table(JOBS.name):
        return
    columns = [column["name"] for column in found.get_columns(JOBS.name)]
    if "kind" in columns:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"ALTER TABLE {JOBS.name} ADD COLUMN kind VARCHAR(8) NOT NULL DEFAULT 'train'"))
        return
    # SQLite would add the column behind the recipe, all of which it reads to come to it: the table is written anew.
    for index in JOBS.indexes:
        connection.execute(text(f"DROP INDEX IF EXISTS {index.name}"))
    connection.execute(text(f"ALTER TABLE {JOBS.name} RENAME TO {_OLD}"))
    JOBS.create(connection)
    names = ", ".join(columns)
    connection.execute(text(f"INSERT INTO {JOBS.name} ({names}) SELECT {names} FROM {_OLD}"))  # noqa: S608 (our names)
    connection.execute(text(f"DROP TABLE {_OLD}"))
