"""Bring the table of jobs of an earlier version to this one."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from service.jobs.schema import JOBS

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
