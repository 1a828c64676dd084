"""A real Postgres, from Debian's packages, for the time of a test run."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg


def program(name: str) -> str | None:
    """Find a program of Postgres, which Debian does not put on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


def _user() -> str | None:
    """Postgres refuses to run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Postgres:
    """A server on a unix socket, and on an address if it has one."""

    def __init__(self, directory: Path, process: subprocess.Popen[bytes], address: str) -> None:
        self._directory = directory
        self._address = address
        self.process = process

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(host=str(self._directory), user="tokd", dbname="postgres", autocommit=True)

    def new_url(self) -> str:
        """Make a schema that is empty, and give a URL that leads to it, by the address if there is one."""
        schema = f"test_{secrets.token_hex(8)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        host = self._address or str(self._directory)
        place = f"host={quote(host, safe='')}&options={quote(f'-csearch_path={schema}')}"
        return f"postgresql://tokd@/postgres?{place}"


@contextmanager
def running_postgres(address: str = "") -> Iterator[Postgres]:
    """Start a server in a directory of its own; it and all it wrote are gone at the end.

    Args:
        address: where its neighbours reach it too.
    """
    initdb, postgres, user = program("initdb"), program("postgres"), _user()
    assert initdb is not None
    assert postgres is not None
    directory = Path(tempfile.mkdtemp(prefix="tokd-pg-"))
    try:
        if user is not None:
            shutil.chown(directory, user)
        data = directory / "data"
        subprocess.run(
            [initdb, "-D", data, "-U", "tokd", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
            user=user,
            cwd=directory,
            check=True,
            capture_output=True,
        )
        if address:
            with (data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet trust\n")
        options = {
            "listen_addresses": address,
            "unix_socket_directories": directory,
            "fsync": "off",
            "full_page_writes": "off",
            "max_connections": "60",
            "shared_buffers": "16MB",
        }
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [postgres, "-D", data, *flags], user=user, cwd=directory, stdout=log, stderr=log, start_new_session=True
            )
        try:
            server = Postgres(directory, process, address)
            _wait_until_ready(server)
            yield server
        finally:
            # SIGQUIT ends it and its children at once, without a checkpoint.
            process.send_signal(3)
            process.wait(60)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_until_ready(server: Postgres) -> None:
    from tests.support.waiting import until

    def ready() -> bool:
        assert server.process.poll() is None, "Postgres ended"
        try:
            server.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    until(ready)
