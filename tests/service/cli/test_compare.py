"""``tokd compare``: tables, JSON and a chart of the library's numbers."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from service.cli.compare import as_text
from service.reports import chart
from tests.service.cli.processes import assert_refused, succeed
from tests.support.tokenizers import write_layout
from tokenizer_core import Tokenizer, compare

NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}


@pytest.fixture
def other(tmp_path):
    write_layout(tmp_path / "other", vocab_size=400)
    return tmp_path / "other"


def test_json_is_what_the_library_says(tokd, tokenizer, other, tmp_path):
    (tmp_path / "a.txt").write_text("The quick brown fox\n", "utf-8")
    corpus = ["--corpus", f"mine={tmp_path / 'a.txt'}", "--corpus", str(tmp_path / "a.txt")]
    artifact = tmp_path / "artifact"
    tokenizer.save(artifact)
    answer = json.loads(succeed(tokd("compare", str(artifact), str(other), *corpus, "--context", "100", "--json")))
    texts = {name: ["The quick brown fox\n"] for name in ("mine", "a.txt")}
    assert answer == json.loads(
        json.dumps(compare([Tokenizer.load(artifact), Tokenizer.load(other)], texts, context=100).to_dict())
    )


def test_tables_have_a_row_for_each_language_and_a_column_for_each_tokenizer(tokd, tokenizer, other, tmp_path):
    tokenizer.save(tmp_path / "artifact")
    shown = succeed(tokd("compare", str(tmp_path / "artifact"), str(other))).decode()
    found = compare([Tokenizer.load(tmp_path / "artifact"), Tokenizer.load(other)])
    for name, costs in found.costs.items():
        rows = [line.split() for line in shown.splitlines() if line.startswith(name)]
        assert [f"{cost.per_word:.2f}" for cost in costs] == rows[0][-2:]
        assert len(rows) == 5
    assert max(map(len, shown.splitlines())) <= 120


def test_equal_names_are_told_apart(tokd, other, tmp_path):
    shown = succeed(tokd("compare", str(other), str(other))).decode()
    assert "other (2)" in shown


def test_the_chart_has_a_dot_for_each_tokenizer_in_each_language(tokd, other, tmp_path):
    succeed(tokd("compare", str(other), str(other), "--chart", str(tmp_path / "chart.svg")))
    drawn = ElementTree.fromstring((tmp_path / "chart.svg").read_text("utf-8"))
    assert len(drawn.findall("svg:circle", NAMESPACE)) == 2 + 2 * len(compare([Tokenizer.load(other)]).costs)
    again = tokd("compare", str(other), "--chart", str(tmp_path / "chart.svg"))
    assert_refused(again, "output_exists", 1)


def test_a_chart_keeps_labels_and_dots_within_its_page():
    values = {
        "a name that is far too long for its place": {f"tokenizer {at}": at / 7 for at in range(14)},
        "none": dict.fromkeys((f"tokenizer {at}" for at in range(14)), None),
    }
    drawn = ElementTree.fromstring(chart.dots("Title", values, "unit"))
    assert len(drawn.findall("svg:circle", NAMESPACE)) == 2 * 6
    assert len(drawn.findall("svg:rect", NAMESPACE)) == 1 + 2 * 8
    width, height = int(drawn.get("width")), int(drawn.get("height"))
    for mark in drawn.iter():
        for key, most in (("cx", width), ("x", width), ("cy", height), ("y", height)):
            if mark.get(key) is not None:
                assert 0 <= float(mark.get(key)) <= most
    labels = [text.text for text in drawn.findall("svg:text", NAMESPACE)]
    assert all(chart.width(label) <= chart.LABEL - 12 for label in labels if label.startswith("a name"))


@pytest.mark.parametrize(
    "name", ["日本語の技術文書と翻訳のコーパス", "👩🏳👧👦" * 5, "W" * 30, "a corpus of manuals.jsonl"]
)
def test_a_name_before_a_row_is_cut_by_its_width(name):
    drawn = ElementTree.fromstring(chart.dots("Title", {name: {"a": 1.0}}, "unit"))
    (label,) = [text.text for text in drawn.findall("svg:text", NAMESPACE) if (text.text or "")[:3] == name[:3]]
    assert chart.width(label) <= chart.LABEL - 12
    assert label == name or (label.endswith("…") and name.startswith(label[:-1]) and len(label) > 9)


def test_tables_fold_in_a_narrow_terminal(tokenizer):
    found = compare([tokenizer] * 6)
    names = [f"a tokenizer called {at}" for at in range(6)]
    wide = as_text(found, names, has_corpus=False).splitlines()
    narrow = as_text(found, names, has_corpus=False, room=60).splitlines()
    assert max(map(len, wide)) > 120
    assert all(len(line) <= 60 for line in narrow if "longest" not in line)
    first = f"{found.costs['english'][0].per_word:.2f}"
    rows = [line.split() for line in narrow[narrow.index("") + 1 :] if line.startswith("english")][:6]
    assert sum(len(row) - 1 for row in rows if row[1] == first) == 6


def test_what_cannot_be_compared_is_refused(tokd, other, tmp_path):
    (tmp_path / "a.txt").write_text("a", "utf-8")
    corpus = str(tmp_path / "a.txt")
    assert_refused(tokd("compare", str(tmp_path / "nothing")), "artifact_not_found", 1)
    assert_refused(tokd("compare", str(other), "--corpus", str(tmp_path / "nothing.txt")), "corpus_not_found", 1)
    assert_refused(tokd("compare", str(other), "--corpus", "=a"), "usage", 2, "NAME=CORPUS")
    assert_refused(tokd("compare", str(other), "--corpus", corpus, "--corpus", corpus), "usage", 2, "a.txt")
    assert_refused(tokd("compare", *[str(other)] * 17), "usage", 2, "16")
