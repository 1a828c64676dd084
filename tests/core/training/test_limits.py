"""Training at its limits: counts beyond 32 bits, pieces of a million characters, runs stopped inside them."""

from __future__ import annotations

import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpora import TIE_BREAKS
from tokenizer_core import (
    Cancelled,
    CorpusTooLarge,
    Counts,
    Progress,
    Recipe,
    TrainingRun,
    counted,
    train,
    train_characters,
)
from tokenizer_core._kernel import Counter
from tokenizer_core.reference.trainers.naive_recount import naive_recount
from tokenizer_core.reference.trainers.order import learn
from tokenizer_core.training.settings import TrainSettings


def letters(length: int) -> str:
    """Make a text without a space."""
    return "".join(random.Random(20_26).choices("abcdefghijklmnopqrstuvwxyz", k=length))


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_counts_beyond_32_bits_are_exact(tmp_path: Path, tie_break: Any) -> None:
    rng = random.Random(20_26)
    words = {f"{number:b}".encode(): rng.choice((1, 2**31, 2**32 - 1, 2**32 + 1, 5 * 10**12)) for number in range(60)}
    lines = [f'{times}\t"{word.decode()}"\n' for word, times in words.items()]
    (tmp_path / "a.counts").write_text("".join(lines), encoding="utf-8")
    tokenizer = train(tmp_path / "a.counts", 330, tie_break=tie_break)
    assert tokenizer.merges == learn(naive_recount, words, 330, tie_break)


@pytest.mark.parametrize("learn_from", [train, train_characters])
@pytest.mark.parametrize(
    "lines",
    [
        '18446744073709551615\t"aa"\n18446744073709551615\t"aab"\n',
        '9223372036854775808\t"xy"\n9223372036854775808\t"xy"\n',
        '6148914691236517206\t"abc"\n',
    ],
)
def test_counts_that_could_leave_64_bits_are_refused(tmp_path: Path, learn_from: Any, lines: str) -> None:
    path = tmp_path / "a.counts"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(CorpusTooLarge, match="divide them all") as refused:
        learn_from(path, 300)
    assert refused.value.place["field"] == "corpus"


def test_a_line_of_json_is_searched_for_its_end_once() -> None:
    counter = Counter(TrainSettings().pipeline().to_json(), threads=1)
    part, begun = b"low " * 64, time.thread_time()
    counter.feed_lines(b'{"text": "', "text")
    for _ in range(65_536):
        counter.feed_lines(part, "text")
    # It takes seconds if every part that arrives is searched from the beginning of the piece.
    assert time.thread_time() - begun < 1
    counter.feed_lines(b'"}\n{"text": "low"}', "text")
    counter.end_lines()
    assert counter.finish().items(0, 9) == [(b" low", 64 * 65_536 - 1), (b"low", 2), (b" ", 1)]


def test_a_call_that_waits_for_one_of_another_thread_holds_no_third_one_up() -> None:
    slow = {"type": "split", "pattern": {"regex": r"\w+|\W+"}, "behavior": "isolated"}
    counter = Counter(json.dumps({"pretokenizer": [slow]}), threads=1)
    feeding = threading.Thread(target=counter.feed_documents, args=(["low " * 250_000] * 60,))
    waiting = threading.Thread(target=counter.begin_source, args=(1,))
    feeding.start()
    time.sleep(0.1)
    waiting.start()
    time.sleep(0.1)
    # If the feeding thread held the GIL, this one would only go on when all was fed.
    assert feeding.is_alive()
    counter.cancel()
    feeding.join()
    waiting.join()


def test_a_counts_file_says_what_its_corpus_was(tmp_path: Path) -> None:
    texts = ["one text", "and another"]
    counts = counted(iter(texts), TrainSettings())
    counts.save(tmp_path / "a.counts.zst")
    again = counted(tmp_path / "a.counts.zst", TrainSettings())
    assert isinstance(again, Counts)
    assert again.summary() == counts.summary()
    assert train(tmp_path / "a.counts.zst", 260).provenance == train(iter(texts), 260).provenance


def test_a_million_equal_letters_are_merged_as_often_as_they_can_be() -> None:
    tokenizer = train(iter(["a" * 1_000_000]), 1000, pattern=None)
    merges = [left + right for left, right in tokenizer.merges]
    assert merges[:19] == [b"a" * 2**power for power in range(1, 20)]
    assert len(merges) == 25
    assert merges[-1] == b"a" * 1_000_000


@pytest.mark.parametrize("first", ["a", "\u4e00"])
def test_the_time_for_one_piece_grows_with_its_length(first: str) -> None:
    text = "".join(chr(ord(first) + ord(one) - ord("a")) for one in letters(1_000_000))

    def seconds(text: str) -> float:
        start = time.process_time()
        train(iter([text]), 2000, pattern=None)
        return time.process_time() - start

    # Eight times the text: linear is 8, quadratic is 64.
    small = min(seconds(text[: len(text) // 8]) for _ in range(3))
    assert seconds(text) < 30 * small


class Stop(BaseException):
    """What a caller raises to end a run."""


@pytest.mark.filterwarnings("ignore::tokenizer_core.TrainingWarning")
@pytest.mark.parametrize("pattern", [r"\s+|\S+", "cl100k_base", None])
@pytest.mark.parametrize("phase", ["counting", "merging"])
def test_a_run_is_stopped_inside_a_huge_text(tmp_path: Path, pattern: str | None, phase: str) -> None:
    (tmp_path / "a.txt").write_text(letters(2_000_000) + " words" * 300_000, encoding="utf-8")
    given = {"corpus": {"paths": [str(tmp_path / "a.txt")]}, "pattern": pattern, "vocab_size": 200_000}
    seen: list[Progress] = []

    def report(progress: Progress) -> None:
        seen.append(progress)
        assert threading.current_thread() is threading.main_thread()
        if [one.phase for one in seen].count(phase) == 2:
            raise Stop

    run = TrainingRun(tmp_path / "run", Recipe.from_dict(given), progress=report)
    with pytest.raises(Stop):
        run.merge()
    assert seen[-1].phase == phase
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("training")] == []


def test_a_report_that_raises_ends_work_that_would_go_on_for_ever() -> None:
    # Three million letters with a vocabulary that is never reached: minutes, if it were not stopped.
    def report(progress: Progress) -> None:
        if progress.phase == "merging" and progress.done > 100:
            raise Cancelled("enough")

    start = time.process_time()
    with pytest.raises(Cancelled, match="enough"):
        train(iter([letters(3_000_000)]), 4_000_000, pattern=None, progress=report)
    assert time.process_time() - start < 60
