"""What a server leaves behind never keeps the next one from starting, unless jobs would be lost without a word."""

from __future__ import annotations

import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from service.jobs.errors import JobsUnavailable
from service.jobs.store import JobStore
from service.setting_values import InvalidSetting
from tests.service.jobs.conftest import SQLITE, MakeSettings
from tests.service.jobs.test_store import remove, submit


def store_at(make_settings: MakeSettings, file: Path) -> JobStore:
    return JobStore.open(make_settings(jobs_url=f"sqlite:///{file}"))


@SQLITE
@pytest.mark.parametrize("half_made", ["", "PRAGMA journal_mode=WAL", "PRAGMA journal_mode=WAL; PRAGMA user_version=1"])
def test_an_empty_file_of_ours_is_made_whole_and_the_log_says_so(
    make_settings: MakeSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture, half_made: str
) -> None:
    file = tmp_path / "jobs.sqlite"
    file.touch()
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(half_made)
    store = store_at(make_settings, file)
    assert caplog.messages == [
        f"the store of jobs: sqlite:///{file} is empty and begins anew; jobs that only it held are lost"
    ]
    job = submit(store)
    store.close()
    again = store_at(make_settings, file)
    assert [each.id for each in again.list(owner=None).jobs] == [job.id]
    again.close()


@SQLITE
@pytest.mark.parametrize("room", [0, 1000, 4096, 10_000])
def test_a_disk_that_is_full_at_the_first_job_does_not_block_the_next_start(
    make_settings: MakeSettings, tmp_path: Path, room: int
) -> None:
    file = tmp_path / "jobs.sqlite"
    store = store_at(make_settings, file)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(JobsUnavailable):
            submit(store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    store.close()
    again = store_at(make_settings, file)
    job = submit(again)
    assert [each.id for each in again.list(owner=None).jobs] == [job.id]
    again.close()


@SQLITE
def test_a_log_that_is_left_without_its_file_does_not_block_the_next_start(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    file = tmp_path / "jobs.sqlite"
    store = store_at(make_settings, file)
    submit(store)
    log = tmp_path / "jobs.sqlite-wal"
    left = log.read_bytes()
    store.close()
    remove(file)
    log.write_bytes(left)
    again = store_at(make_settings, file)
    job = submit(again)
    assert [each.id for each in again.list(owner=None).jobs] == [job.id]
    again.close()


@SQLITE
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("is_linked", [False, True])
def test_what_stands_in_the_way_of_sqlite_s_own_files_is_refused_at_the_start(
    make_settings: MakeSettings, tmp_path: Path, ending: str, is_linked: bool
) -> None:
    file = tmp_path / "jobs.sqlite"
    if is_linked:
        (tmp_path / "elsewhere").mkdir()
        file.symlink_to(tmp_path / "elsewhere" / "kept.sqlite")
        (tmp_path / "elsewhere" / "kept.sqlite").touch()
    beside = Path(f"{file.resolve()}{ending}")
    beside.mkdir()
    with pytest.raises(InvalidSetting, match=rf"needs {beside}, which is not a file; remove it"):
        store_at(make_settings, file)
    beside.rmdir()
    beside.symlink_to("nothing")
    with pytest.raises(InvalidSetting, match="which is not a file"):
        store_at(make_settings, file)
    beside.unlink()
    store = store_at(make_settings, file)
    submit(store)
    store.close()


@SQLITE
def test_a_link_to_nothing_is_refused_at_the_start(make_settings: MakeSettings, tmp_path: Path) -> None:
    file = tmp_path / "jobs.sqlite"
    file.symlink_to(tmp_path / "gone" / "jobs.sqlite")
    with pytest.raises(InvalidSetting, match="is a link to what is not there"):
        store_at(make_settings, file)


@SQLITE
@pytest.mark.parametrize("foreign", ["CREATE TABLE jobs (id)", "CREATE TABLE a (b); CREATE VIEW c AS SELECT * FROM a"])
def test_the_database_of_another_application_is_refused_and_stays_as_it_is(
    make_settings: MakeSettings, tmp_path: Path, foreign: str
) -> None:
    file = tmp_path / "jobs.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(foreign)
    before = file.read_bytes()
    with pytest.raises(InvalidSetting, match="is the database of another application; name another file"):
        store_at(make_settings, file)
    assert file.read_bytes() == before


@SQLITE
def test_a_store_of_a_newer_version_is_refused_by_name(make_settings: MakeSettings, tmp_path: Path) -> None:
    file = tmp_path / "jobs.sqlite"
    store = store_at(make_settings, file)
    submit(store)
    store.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 1000")
    with pytest.raises(InvalidSetting, match=r"was made by a newer tokd; update this one, or name another"):
        store_at(make_settings, file)
