"""A store of before there were kinds of jobs: its jobs train, and nothing of them is lost."""

from __future__ import annotations

from sqlalchemy import inspect, text

from service.jobs.job import JobRequest
from service.jobs.leases import Leases
from service.jobs.schema import JOBS
from service.jobs.states import Kind
from service.jobs.store import JobStore
from tests.service.jobs.conftest import MakeSettings


def test_jobs_of_before_there_were_kinds_train(make_settings: MakeSettings) -> None:
    store = JobStore.open(make_settings())
    job, _ = store.submit(JobRequest(recipe={"a": "x" * 9000}, owner="ann", idempotency_key="k", name="n"))
    with store.database.write() as connection:
        for index in JOBS.indexes:
            connection.execute(text(f"DROP INDEX {index.name}"))
        connection.execute(text("ALTER TABLE tokd_jobs DROP COLUMN kind"))
        connection.execute(text("CREATE TABLE tokd_job_parts (job_id VARCHAR)"))
        if connection.dialect.name == "sqlite":
            connection.execute(text("PRAGMA user_version = 1"))
    store.close()
    again = JobStore.open(make_settings())
    assert again.get(job.id, "ann") == job
    assert job.kind is Kind.TRAIN
    assert again.submit(JobRequest(recipe=job.recipe, owner="ann", idempotency_key="k", name="n")) == (job, False)
    other, _ = again.submit(JobRequest(recipe={}, owner="ann", kind=Kind.ENCODE))
    leases = Leases(again.database, seconds=60, max_attempts=3)
    for wanted, stage in ((job, "counting"), (other, "encoding")):
        lease = leases.take("w")
        assert lease is not None
        assert (lease.job.id, lease.job.stage) == (wanted.id, stage)
    with again.database.read() as connection:
        found = inspect(connection)
        assert {index["name"] for index in found.get_indexes("tokd_jobs")} >= {index.name for index in JOBS.indexes}
        assert found.get_table_names().count("tokd_jobs") == 1
        assert "tokd_job_parts" not in found.get_table_names()
        if connection.dialect.name == "sqlite":
            # SQLite reads all of a row up to the last column that is wanted.
            assert [column["name"] for column in found.get_columns("tokd_jobs")][-1] == "recipe"
    again.close()
