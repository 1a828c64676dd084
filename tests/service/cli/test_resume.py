"""Training runs that are interrupted, killed or disturbed, and go on with ``--resume``."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service.cli import main, train
from service.cli.progress import Bar
from tests.service.cli.processes import environment
from tests.service.cli.training import FLAGS, Interrupting, contents, interrupted, refused, write_corpus
from tokenizer_core import Tokenizer

pytestmark = [pytest.mark.nightly, pytest.mark.process]


@pytest.mark.parametrize("phase", ["counting", "merging", "publishing"])
@pytest.mark.parametrize(("how", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupted_run_goes_on_to_the_same_bytes(folder, capsysbinary, monkeypatch, request, phase, how, status):
    # A shell that runs the tests in the background has them ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    assert main(["train", *FLAGS, "-o", "one/mine", "--sizes", "300"]) == 0
    monkeypatch.setattr(train, "Bar", type("At", (Interrupting,), {"phase": phase, "how": how}))
    capsysbinary.readouterr()
    assert main(["train", *FLAGS, "-o", "two/mine", "--sizes", "300"]) == status
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert "--resume" in err.decode().splitlines()[-1]
    monkeypatch.setattr(train, "Bar", Bar)
    assert main(["train", *FLAGS, "-o", "two/mine"]) == 1
    assert "--resume continues it" in capsysbinary.readouterr().err.decode()
    assert main(["train", *FLAGS, "-o", "two/mine", "--resume", "--tie-break", "lowest_ids"]) == 1
    assert "another sizes, tie_break" in capsysbinary.readouterr().err.decode()
    assert main(["train", "--resume", "-o", "two/mine"]) == 0
    for name in ("mine", "mine-300"):
        assert contents(Path("two", name)) == contents(Path("one", name))
    assert sorted(path.name for path in Path("two").iterdir()) == ["mine", "mine-300", "mine.report"]


@pytest.mark.parametrize("phase", ["counting", "publishing"])
@pytest.mark.parametrize("place", ["mine", "mine-300"])
def test_a_run_that_goes_on_replaces_no_artifact_of_another(folder, capsysbinary, monkeypatch, phase, place):
    assert main(["train", *FLAGS, "--vocab-size", "290", "-o", "other"]) == 0
    interrupted(monkeypatch, capsysbinary, "--sizes", "300", phase=phase)
    Path("other").rename(place)
    before = contents(Path(place))
    for flags in ([], [*FLAGS, "--sizes", "300"]):
        message = refused(capsysbinary, "output_exists", 1, [*flags, "-o", "mine", "--resume"])
        assert f"{place} is there" in message
    assert contents(Path(place)) == before
    Path(place).rename("elsewhere")
    assert main(["train", "-o", "mine", "--resume"]) == 0
    assert Tokenizer.open("mine").vocab_size == 400


def test_a_run_below_its_corpus_goes_on_without_what_it_wrote(folder, capsysbinary, monkeypatch):
    assert main(["train", *FLAGS, "--format", "jsonl", "-o", "elsewhere"]) == 0
    flags = ["--format", "jsonl", "--save-counts", "corpus/c.counts", "--sizes", "300", "--report", "corpus/report"]
    monkeypatch.setattr(train, "Bar", type("At", (Interrupting,), {"phase": "publishing"}))
    assert main(["train", *FLAGS, "-o", "corpus/mine", *flags]) == 143
    monkeypatch.setattr(train, "Bar", Bar)
    assert main(["train", *FLAGS, "-o", "corpus/mine", *flags, "--resume"]) == 0
    assert Tokenizer.open("corpus/mine").provenance["corpus"] == Tokenizer.open("elsewhere").provenance["corpus"]


def test_a_run_that_goes_on_extends_what_it_began_with(folder, capsysbinary, monkeypatch):
    for size in ("270", "280"):
        assert main(["train", *FLAGS, "--vocab-size", size, "-o", f"start-{size}"]) == 0
    Path("start").symlink_to("start-270")
    monkeypatch.setattr(train, "Bar", type("At", (Interrupting,), {"phase": "merging"}))
    flags = ["corpus", "--field", "body", "--extend", "start", "--vocab-size", "300", "-o", "mine"]
    assert main(["train", *flags]) == 143
    monkeypatch.setattr(train, "Bar", Bar)
    capsysbinary.readouterr()
    Path("start").unlink()
    Path("start").symlink_to("start-280")
    assert "start holds sha256:" in refused(capsysbinary, "hash_mismatch", 1, ["--resume", "-o", "mine"])
    assert "another extends_hash" in refused(capsysbinary, "other_run", 1, [*flags, "--resume"])
    Path("start").unlink()
    Path("start").symlink_to("start-270")
    assert main(["train", *flags, "--resume"]) == 0
    assert Tokenizer.open("mine").provenance["extends"] == Tokenizer.open("start-270").hash


def test_a_run_that_goes_on_takes_its_own_files_for_its_own(folder, capsysbinary, monkeypatch):
    flags = ["--sizes", "300", "--save-counts", "c.counts", "--report", "report"]

    write = train.write_report

    def written_and_killed(*what: object) -> None:
        write(*what)
        raise train.Stopped

    with monkeypatch.context() as patched:
        patched.setattr(train, "write_report", written_and_killed)
        with pytest.raises(train.Stopped):
            main(["train", *FLAGS, "-o", "mine", *flags])
    places = [Path(name) for name in ("mine", "mine-300", "c.counts", "report")]
    assert all(place.exists() for place in (*places, Path("mine.run")))
    before = [place.stat().st_ino for place in places]
    assert main(["train", *FLAGS, "-o", "mine", "--resume", *flags]) == 0
    assert [place.stat().st_ino for place in places] == before
    assert not Path("mine.run").exists()


@pytest.mark.parametrize("flag", ["--save-counts", "--report"])
@pytest.mark.parametrize("there", ["file", "report of another"])
def test_a_run_that_goes_on_writes_neither_counts_nor_report_over_others(
    folder, capsysbinary, monkeypatch, flag, there
):
    interrupted(monkeypatch, capsysbinary, phase="counting")
    if there == "file":
        Path("place").write_text("mine", encoding="utf-8")
    else:
        Path("place").mkdir()
        Path("place/report.json").write_text(json.dumps({"hash": "sha256:"}), encoding="utf-8")
    before = Path("place").stat()
    assert main(["train", "-o", "mine", "--resume", flag, "place"]) == 1
    assert "output_exists: place is there and is not of this run" in capsysbinary.readouterr().err.decode()
    assert Path("place").stat() == before
    assert not Path("mine").exists()
    assert main(["train", "-o", "mine", "--resume", flag, "free"]) == 0


def test_a_run_that_goes_on_refuses_before_any_work_a_directory_where_its_counts_go(folder, capsysbinary, monkeypatch):
    interrupted(monkeypatch, capsysbinary, phase="counting")
    Path("place").mkdir()
    for place, code in (("place", "output_exists"), ("nowhere/c.counts", "unwritable_output")):
        message = refused(capsysbinary, code, 1, ["-o", "mine", "--resume", "--save-counts", place])
        assert place in message
    assert main(["train", "-o", "mine", "--resume"]) == 0


def test_two_processes_never_work_on_one_run(folder, capsysbinary, monkeypatch):
    monkeypatch.setattr(train, "Bar", type("At", (Interrupting,), {}))
    assert main(["train", *FLAGS, "-o", "mine"]) == 143
    capsysbinary.readouterr()
    held = os.open("mine.run", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert main(["train", "--resume", "-o", "mine"]) == 1
    os.close(held)
    assert "other_run: another process" in capsysbinary.readouterr().err.decode()
    Path("mine.run/recipe.json").write_text("{", encoding="utf-8")
    assert main(["train", "--resume", "-o", "mine"]) == 1
    assert "other_run: mine.run/recipe.json is not a recipe" in capsysbinary.readouterr().err.decode()


@pytest.mark.parametrize(
    ("flags", "other"),
    [
        (["--vocab-size", "500", "--name", "other"], "name, vocab_size"),
        (["--no-pattern"], "pattern"),
        (["--special-token", "<|x|>"], "special_tokens"),
        (["--field", "text"], "corpus"),
        (["--extend", "elsewhere"], "extends"),
        (["--settings", "settings.json"], "min_frequency"),
    ],
    ids=str,
)
def test_without_a_corpus_other_settings_are_refused_all_the_same(folder, capsysbinary, monkeypatch, flags, other):
    Path("settings.json").write_text('{"min_frequency": 2, "vocab_size": 400}', encoding="utf-8")
    interrupted(monkeypatch, capsysbinary)
    message = refused(capsysbinary, "other_run", 1, ["--resume", "-o", "mine", *flags])
    assert f"another {other};" in message
    assert main(["train", *FLAGS[1:], "--resume", "-o", "mine"]) == 0


@pytest.mark.parametrize("flags", [[], ["--resume"]])
@pytest.mark.parametrize("half", [None, b"", b'{"corpus": {"pa'])
def test_a_run_begins_where_one_was_killed_before_its_recipe_was_kept(folder, capsysbinary, flags, half):
    Path("mine.run").mkdir()
    if half is not None:
        Path("mine.run/.recipe.json").write_bytes(half)
    assert main(["train", *FLAGS, "-o", "mine", *flags]) == 0
    assert not Path("mine.run").exists()


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_is_full_at_once_leaves_nothing(folder, capsysbinary, monkeypatch):
    monkeypatch.setattr(train.os, "fsync", full)
    message = refused(capsysbinary, "unwritable_output", 1, [*FLAGS, "-o", "mine"])
    assert "mine.run: no space left on device" in message


def test_a_place_that_takes_no_directories_is_told_at_once(folder, capsysbinary):
    message = refused(capsysbinary, "unwritable_output", 1, [*FLAGS, "-o", "/proc/nowhere/mine"])
    assert "/proc/nowhere/mine.run: no such file or directory" in message


@pytest.mark.parametrize(
    ("step", "place"), [("count", "mine.run"), ("save_counts", "c.counts"), ("merge", "mine.run"), ("publish", "mine")]
)
def test_a_disk_that_fills_up_is_told_with_the_place(folder, capsysbinary, monkeypatch, step, place):
    with monkeypatch.context() as patched:
        patched.setattr(train.TrainingRun, step, full)
        assert main(["train", *FLAGS, "-o", "mine", "--save-counts", "c.counts"]) == 1
    last = capsysbinary.readouterr().err.decode().splitlines()[-1]
    assert last == f"tokd: error: unwritable_output: {place}: no space left on device"
    assert Path("mine.run").exists() == (step != "count")
    assert main(["train", *FLAGS, "-o", "mine", "--save-counts", "c.counts", "--resume"]) == 0


def test_a_run_is_one_process_until_nothing_of_it_is_left(folder, capsysbinary, monkeypatch):
    write, ends = train.write_report, []

    def meanwhile(*what: object) -> None:
        ends.append(main(["train", "--resume", "-o", "mine"]))
        write(*what)

    monkeypatch.setattr(train, "write_report", meanwhile)
    assert main(["train", *FLAGS, "-o", "mine"]) == 0
    assert ends == [1]
    assert "other_run: another process works" in capsysbinary.readouterr().err.decode()


def test_a_work_directory_may_vanish_while_it_is_opened(folder, capsysbinary, monkeypatch):
    lock, gone = fcntl.flock, []

    def removed_before(descriptor: int, how: int) -> None:
        if not gone:
            gone.append(Path("mine.run").rmdir())
        lock(descriptor, how)

    monkeypatch.setattr(train.fcntl, "flock", removed_before)
    assert main(["train", *FLAGS, "-o", "mine", "--resume"]) == 0
    assert gone


def test_a_killed_run_goes_on_to_the_same_bytes(folder, capsysbinary):
    write_corpus(folder / "corpus" / "c.jsonl", 60_000)
    assert main(["train", *FLAGS, "-o", "one/mine"]) == 0
    command = [sys.executable, "-m", "service.cli", "train", *FLAGS, "-o", "two/mine", "--resume"]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            for line in process.stderr:
                if line.startswith(b"merging"):
                    break
        finally:
            process.kill()
    if not Path("two/mine").exists():
        assert main(["train", *FLAGS, "-o", "two/mine", "--resume"]) == 0
    assert contents(Path("two/mine")) == contents(Path("one/mine"))
