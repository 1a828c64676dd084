"""Runs that are stopped, killed or shared write the bytes of one that is left alone."""

import errno
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.token_files.conftest import line, many_texts
from tests.core.token_files.readers import READERS
from tokenizer_core import InvalidCorpus, Tokenizer, encode_corpus, has_free_task
from tokenizer_core.token_files import claims, run, store
from tokenizer_core.token_files.layouts import LAYOUTS
from tokenizer_core.token_files.shuffle import permutation

SHARD = 4096


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Stop(Exception):
    """Raised by a test's report."""


def stop_after(documents: int):
    def report(progress):
        if progress.documents >= documents:
            raise Stop

    return report


@pytest.fixture(autouse=True)
def _report_always(monkeypatch):
    monkeypatch.setattr("tokenizer_core.token_files.run._REPORTED", 0)
    monkeypatch.setattr("tokenizer_core.token_files.run._WAITED", 0.02)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shuffle", [None, 5])
def test_threads_and_memory_change_no_byte(tokenizer, large_corpus, tmp_path, layout, shuffle):
    for name, options in (("one", {"threads": 1, "memory": 1}), ("more", {"threads": 3})):
        encode_corpus(
            large_corpus, tokenizer, tmp_path / name, layout=layout, shard_bytes=SHARD, shuffle=shuffle, **options
        )
    assert content(tmp_path / "one") == content(tmp_path / "more")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shuffle", [None, 5])
def test_a_stopped_run_resumes_and_writes_the_same_bytes(tokenizer, large_corpus, tmp_path, layout, shuffle):
    options = {"layout": layout, "shard_bytes": SHARD, "shuffle": shuffle}
    encode_corpus(large_corpus, tokenizer, tmp_path / "whole", **options)
    for documents in (60, 30, 200):
        with pytest.raises(Stop):
            encode_corpus(
                large_corpus, tokenizer, tmp_path / "out", resume=True, progress=stop_after(documents), **options
            )
        assert not (tmp_path / "out").exists()
    told = []
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", resume=True, progress=told.append, **options)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert told[-1].documents < 150
    assert told[-1].done == told[-1].total
    assert not store.store_of(tmp_path / "out").exists()


def test_a_run_that_was_stopped_while_files_got_their_names_goes_on(tokenizer, large_corpus, tmp_path, monkeypatch):
    encode_corpus(large_corpus, tokenizer, tmp_path / "whole", shard_bytes=SHARD)
    rename = Path.rename
    for left in (0, 3, 9):

        def fail(path, target, left=left, count=iter(range(100))):  # noqa: B008 - one iterator a function
            if path.suffix in (".bin", ".idx") and next(count) >= left:
                raise Stop
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fail)
        with pytest.raises(Stop):
            encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True)
    monkeypatch.setattr(Path, "rename", rename)
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_stopped_run_is_never_continued_by_accident(tokenizer, large_corpus, tmp_path):
    with pytest.raises(Stop):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, progress=stop_after(60))
    with pytest.raises(FileExistsError, match="resume it"):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD)


@pytest.mark.parametrize("way", ["resume", "join"])
def test_other_settings_lose_nothing_of_a_stopped_run(tokenizer, large_corpus, tmp_path, way):
    with pytest.raises(Stop):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, progress=stop_after(60))
    parts = store.store_of(tmp_path / "out")
    before = content(parts)
    other = large_corpus / "a.jsonl"
    for corpus, size, named in ((large_corpus, 2 * SHARD, f"shard_bytes {SHARD};"), (other, 2 * SHARD, "corpus ")):
        with pytest.raises(FileExistsError, match=f"of a run with .*{named}.* repeat that command, or") as refused:
            encode_corpus(corpus, tokenizer, tmp_path / "out", shard_bytes=size, **{way: True})
        assert refused.value.filename == str(parts)
        assert content(parts) == before
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, **{way: True})
    encode_corpus(large_corpus, tokenizer, tmp_path / "whole", shard_bytes=SHARD)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_changed_files_find_nothing_of_a_stopped_run(tokenizer, large_corpus, tmp_path):
    with pytest.raises(Stop):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, progress=stop_after(60))
    (large_corpus / "a.jsonl").write_bytes(b"".join(map(line, ["other"] * 50)))
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True)
    encode_corpus(large_corpus, tokenizer, tmp_path / "whole", shard_bytes=SHARD)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_whole_run_is_returned_and_another_one_is_refused(tokenizer, large_corpus, tmp_path):
    first = encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD)
    for way in ("resume", "join"):
        again = encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, **{way: True})
        assert again == first
    with pytest.raises(FileExistsError, match="not from a run over this corpus"):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True, eos="none")
    with pytest.raises(FileExistsError, match="there already"):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD)


def test_an_error_keeps_finished_parts_and_nothing_else(tokenizer, large_corpus, tmp_path):
    good = (large_corpus / "c.jsonl.gz").read_bytes()
    (large_corpus / "c.jsonl.gz").write_bytes(good[:-20])
    with pytest.raises(InvalidCorpus, match=r"c\.jsonl\.gz"):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD)
    kept = [path.suffix for path in store.store_of(tmp_path / "out").iterdir()]
    assert set(kept) == {".json", ".bin", ".idx"}
    (large_corpus / "c.jsonl.gz").write_bytes(good)
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True)
    encode_corpus(large_corpus, tokenizer, tmp_path / "whole", shard_bytes=SHARD)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_shuffle_is_a_permutation_that_the_seed_decides(tokenizer, end, large_corpus, tmp_path):
    found = {}
    for seed in (None, 1, 2):
        encode_corpus(large_corpus, tokenizer, tmp_path / f"{seed}", layout="ds", shard_bytes=SHARD, shuffle=seed)
        found[seed] = READERS["ds"](tmp_path / f"{seed}", "uint16")
    assert found[None] != found[1] != found[2]
    assert sorted(found[None]) == sorted(found[1]) == sorted(found[2])


def test_the_permutation_is_the_same_for_ever():
    assert permutation(10, 42).tolist() == [4, 1, 6, 2, 8, 3, 9, 0, 7, 5]
    assert sorted(permutation(1000, 3).tolist()) == [*range(1000)]


def test_another_run_that_is_alive_is_joined_or_refused(tokenizer, large_corpus, tmp_path):
    folder = store.store_of(tmp_path / "out")
    folder.mkdir()
    other = claims.Claims(folder)
    assert other.take("0" * 32)
    with pytest.raises(FileExistsError, match="join it"):
        encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, resume=True)
    encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, join=True)
    other.close()


def test_progress_is_that_of_all_runs_that_share_the_work(tokenizer, large_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_COUNTED", 0.0)
    monkeypatch.setattr(run, "_REPORTED", 0.0)
    told, of_another = [], []

    def stop_at_half(progress):
        of_another.append(progress)
        if progress.done > progress.total / 2:
            raise Stop

    def note(progress):
        if not told:
            with pytest.raises(Stop):
                encode_corpus(
                    large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, join=True, progress=stop_at_half
                )
        told.append(progress)

    whole = encode_corpus(large_corpus, tokenizer, tmp_path / "out", shard_bytes=SHARD, join=True, progress=note)
    assert told[1].done > told[1].total / 3 > 0
    assert told[1].documents < whole.documents / 3
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert told[-1].done == told[-1].total
    assert told[-1].documents + of_another[-1].documents >= whole.documents


def test_a_task_is_free_until_a_run_that_is_alive_has_it(tmp_path):
    out = tmp_path / "out"
    assert not has_free_task(out)
    folder = store.store_of(out)
    folder.mkdir()
    (folder / "plan.json").write_text('["a", "b"]')
    one = claims.Claims(folder)
    assert one.take("a")
    assert has_free_task(out)
    assert one.take("b")
    assert not has_free_task(out)
    one.release("b")
    (folder / "b.json").write_text("{}")
    assert not has_free_task(out)
    one.close()
    assert has_free_task(out)


def test_a_claim_belongs_to_one_run_until_it_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "HEARTBEAT_SECONDS", 0.01)
    one, two = claims.Claims(tmp_path), claims.Claims(tmp_path)
    assert one.take("a")
    assert not two.take("a")
    assert list(two.others()) == ["a"]
    one.release("a")
    assert two.take("a")
    # A run on another host that has stopped touching its claim.
    (tmp_path / "b.claim").write_text('{"host": "elsewhere", "process": 1, "started": "1"}')
    assert not one.take("b")
    monkeypatch.setattr(claims, "LEASE_SECONDS", -1.0)
    assert one.take("b")
    # A process of this host that is gone.
    monkeypatch.setattr(claims, "LEASE_SECONDS", 1e9)
    owner = claims.json.loads(one._owner) | {"process": 2**22 + 1}
    (tmp_path / "c.claim").write_text(claims.json.dumps(owner))
    assert two.take("c")
    one.close()
    two.close()
    assert list(tmp_path.glob("*.claim")) == []


def test_a_file_system_without_links_has_claims_too(tmp_path, monkeypatch):
    def refuse(path, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    one, two = claims.Claims(tmp_path), claims.Claims(tmp_path)
    assert one.take("a")
    assert not two.take("a")
    one.close()
    assert two.take("a")
    two.close()
    assert [*tmp_path.iterdir()] == []


def command(corpus: Path, artifact: Path, out: Path, *more: str) -> list[str]:
    run = [sys.executable, "-m", "service.cli", "encode-corpus", str(corpus), "-t", str(artifact), "-o", str(out)]
    return [*run, "--shard-bytes", "40K", "--quiet", *more]


@pytest.fixture
def artifact(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    tokenizer.save(tmp_path / "artifact", name=tokenizer.name)
    return tmp_path / "artifact"


@pytest.fixture
def longer_corpus(large_corpus: Path) -> Path:
    for number in range(6):
        texts = many_texts(1000)[number * 100 :]
        (large_corpus / f"e{number}.jsonl").write_bytes(b"".join(map(line, texts)))
    return large_corpus


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("layout", LAYOUTS)
def test_kills_at_any_moment_change_no_byte_and_show_no_half_file(tokenizer, longer_corpus, artifact, tmp_path, layout):
    encode_corpus(longer_corpus, tokenizer, tmp_path / "whole", layout=layout, shard_bytes=40_000, shuffle=3)
    chosen, out = random.Random(layout), tmp_path / "out"
    run = command(longer_corpus, artifact, out, "--format", layout, "--shuffle", "3")
    for kills in range(4):
        process = subprocess.Popen([*run, "--resume"])
        deadline = time.monotonic() + 30
        # After some part is there, or, the first time, whenever.
        while kills and time.monotonic() < deadline and process.poll() is None:
            if len(list(store.store_of(out).glob("*-0.json"))) > 4 * kills:
                break
            time.sleep(0.001)
        time.sleep(chosen.random() * (0.03 if kills else 0.4))
        assert not out.exists() or content(out) == content(tmp_path / "whole")
        process.kill()
        assert process.wait() in (-signal.SIGKILL, 0)
    subprocess.run([*run, "--resume"], check=True, stdout=subprocess.DEVNULL)
    assert content(out) == content(tmp_path / "whole")
    assert not store.store_of(out).exists()


@pytest.mark.nightly
@pytest.mark.process
@pytest.mark.parametrize("layout", ["megatron", "mds", "nanogpt", "arrow"])
def test_runs_that_join_share_the_work_though_some_are_killed(tokenizer, longer_corpus, artifact, tmp_path, layout):
    encode_corpus(longer_corpus, tokenizer, tmp_path / "whole", layout=layout, shard_bytes=40_000)
    out = tmp_path / "out"
    run = [*command(longer_corpus, artifact, out, "--format", layout), "--join", "--threads", "1"]
    processes = [subprocess.Popen(run, stdout=subprocess.DEVNULL) for _ in range(4)]
    deadline = time.monotonic() + 60
    while not list(store.store_of(out).glob("*-0.json")) and not out.exists() and time.monotonic() < deadline:
        time.sleep(0.002)
    processes[0].kill()
    assert [process.wait() for process in processes[1:]] == [0, 0, 0]
    processes[0].wait()
    assert content(out) == content(tmp_path / "whole")
