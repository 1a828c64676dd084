"""Progress: one line drawn again on a terminal, few plain lines elsewhere."""

import io

import pytest

from service.cli.progress import Bar, Rate, amount, duration, line
from tokenizer_core import Progress, TimeLeft


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def report(bar: Bar, clock: Clock, *reports: tuple[float, str, int]) -> None:
    units = {"counting": "bytes", "merging": "merges", "publishing": "files"}
    for now, phase, done in reports:
        clock.now = now
        bar(Progress(phase, done, 1000, units[phase]))


def test_a_terminal_shows_one_line_with_share_rate_and_time_left(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    stream, clock = Terminal(), Clock()
    bar = Bar(stream, clock=clock)
    report(bar, clock, (0, "merging", 0), (1, "merging", 100), (2, "merging", 200))
    assert "\n" not in stream.getvalue()
    last = stream.getvalue().split("\r\x1b[K")[-1]
    assert "merging" in last
    assert " 20%" in last
    assert "200 of 1,000 merges" in last
    assert "100 merges/s" in last
    assert "2 s left" in last
    assert "[#####..................." in last
    bar.clear()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_a_narrow_terminal_shows_what_fits(monkeypatch):
    stream, clock = Terminal(), Clock()
    bar = Bar(stream, clock=clock)
    monkeypatch.setenv("COLUMNS", "70")
    report(bar, clock, (0, "merging", 0), (1, "merging", 100))
    monkeypatch.setenv("COLUMNS", "20")
    report(bar, clock, (2, "merging", 200))
    _, _, wide, narrow = stream.getvalue().split("\r\x1b[K")
    assert "[" not in wide
    assert "s left" in wide
    assert len(narrow) == 19


def test_written_files_have_no_rate(monkeypatch):
    stream, clock = Terminal(), Clock()
    report(Bar(stream, clock=clock), clock, (0, "publishing", 0), (5, "publishing", 1000))
    assert "1,000 of 1,000 files" in stream.getvalue()
    assert "files/s" not in stream.getvalue()


def test_elsewhere_there_are_few_plain_lines():
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    report(bar, clock, *((tick / 10, "counting", tick) for tick in range(300)))
    report(bar, clock, (30, "counting", 1000), (30, "counting", 1000), (31, "merging", 0))
    lines = stream.getvalue().splitlines()
    assert [text.split()[0] for text in lines] == ["counting"] * 4 + ["merging"]
    assert "\x1b" not in stream.getvalue()
    assert "100%" in lines[3]


def test_seconds_are_kept_by_phase():
    clock = Clock()
    bar = Bar(io.StringIO(), clock=clock)
    report(bar, clock, (0, "counting", 0), (3, "counting", 9), (4, "merging", 0), (9, "merging", 9))
    assert bar.seconds == {"counting": 3.0, "merging": 6.0}


def test_a_rate_is_smoothed_and_never_below_nothing():
    rate = Rate()
    assert rate.at(0.0, 0) is None
    assert rate.at(1.0, 100) == 100
    assert 100 < rate.at(2.0, 400) < 300
    assert rate.at(2.0, 400) is not None
    assert rate.at(9.0, 0) == 0


def test_the_time_left_of_merges_is_told_from_the_first_one_on_and_grows_with_the_root():
    left = TimeLeft()
    assert left.at(0, 0, 10_000, "merges") is None
    assert left.at(50, 0, 10_000, "merges") is None
    # A tenth of the root of all in one second, and half of it in five.
    assert left.at(51, 100, 10_000, "merges") == pytest.approx(9)
    assert left.at(55, 2_500, 10_000, "merges") == pytest.approx(5)
    assert left.at(60, 10_000, 10_000, "merges") == 0
    resumed = TimeLeft()
    assert resumed.at(0, 2_500, 10_000, "merges") is None
    assert resumed.at(1, 3_600, 10_000, "merges") == pytest.approx(4)


def test_the_time_left_of_all_else_is_in_proportion_from_the_beginning_on():
    left = TimeLeft()
    assert [left.at(now, done, 100, "tokens") for now, done in ((0, 0), (1, 0), (2, 25), (4, 50))] == [None, None, 6, 4]
    assert left.at(5, 10, 100, "tokens") == 45
    assert TimeLeft().at(1, 1, None, "bytes") is None


@pytest.mark.parametrize("total", [None, 0])
def test_without_a_total_there_is_no_share(total):
    text = line(Progress("counting", 5, total, "bytes"), None, None, bar=True)
    assert "%" not in text
    assert "5 B" in text


def test_amounts_and_durations_are_short():
    assert [amount(n, "bytes") for n in (0, 999, 1500, 2_500_000, 7_000_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.5 MB",
        "7.0 GB",
    ]
    assert [duration(s) for s in (0.2, 59, 61, 3725)] == ["0 s", "59 s", "1:01", "1:02:05"]
