"""``tokd train``: flags and settings files, an artifact with a report, and what is refused."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from service.cli import main
from service.cli.train_settings import FLAGS as FLAGS_OF_SETTINGS
from tests.service.cli.processes import ROOT
from tests.service.cli.training import FLAGS, SPECIAL, contents, refused
from tokenizer_core import Files, Recipe, Tokenizer, compare
from tokenizer_core import train as train_in_python
from tokenizer_core import train_characters as characters_in_python
from tokenizer_core.training.families import ALL_FIELDS

WRITTEN = ("--work", "--report", "--save-counts")


def test_an_artifact_is_the_one_that_python_trains(folder, capsysbinary):
    assert main(["train", *FLAGS, "-o", "mine", "--tie-break", "lowest_ids", "--min-frequency", "2"]) == 0
    tokenizer = Tokenizer.open("mine")
    files = Files(paths=("corpus",), field="body")
    settings = {"special_tokens": [SPECIAL], "pattern": "gpt2", "tie_break": "lowest_ids", "min_frequency": 2}
    assert tokenizer.hash == train_in_python(files, 400, **settings).hash
    corpus = tokenizer.provenance["corpus"]
    assert corpus["documents"] == 300
    assert corpus["hash"].startswith("sha256:")
    assert tokenizer.provenance["trained_by"].startswith("tokd ")
    out, err = capsysbinary.readouterr()
    assert tokenizer.hash in out.decode()
    assert "400 tokens" in out.decode()
    assert err.decode().splitlines()[0].startswith("counting ")
    assert sorted(path.name for path in folder.iterdir()) == ["corpus", "mine", "mine.report"]


def test_a_corpus_may_have_a_name_that_is_not_utf8(folder, capsysbinary):
    name = os.fsdecode(b"corpus-\xff")
    Path("corpus").rename(name)
    assert main(["train", name, *FLAGS[1:], "-o", "mine"]) == 0
    assert Tokenizer.open("mine").vocab_size == 400


def test_the_report_is_complete_and_its_plots_are_drawn(folder, capsysbinary):
    Path("de.txt").write_text("Alle Menschen sind frei", encoding="utf-8")
    assert main(["train", *FLAGS, "-o", "small", "--vocab-size", "300", "--report", "r0"]) == 0
    capsysbinary.readouterr()
    flags = ["--report", "r", "--against", "small", "--fertility", "de=de.txt", "--json"]
    assert main(["train", *FLAGS, "-o", "mine", *flags]) == 0
    document = json.loads(capsysbinary.readouterr().out)
    assert document == json.loads(Path("r/report.json").read_text())
    tokenizer = Tokenizer.open("mine")
    assert document["hash"] == tokenizer.hash
    found = compare([tokenizer], {"de": ["Alle Menschen sind frei"]})
    (cost,) = found.costs["de"]
    measured = {name: document["fertility"]["de"][name] for name in ("tokens", "per_word", "whole_words", "unknown")}
    assert measured == {name: getattr(cost, name) for name in measured}
    assert document["against"]["hash"] == Tokenizer.open("small").hash
    rare = sum(count < 50 for _, count in document["frequencies"])
    assert document["learned"] == {"tokens": 143, "merges": 143, "rare": rare}
    assert [merge for merge, _ in document["frequencies"]] == list(range(1, 144))
    counts = [count for _, count in document["frequencies"]]
    assert counts == sorted(counts, reverse=True)
    page = Path("r/report.md").read_text()
    assert "| de | " in page
    assert tokenizer.hash in page
    for plot in ("fertility.svg", "frequencies.svg", "compression.svg", "merges.svg"):
        assert plot in page
        assert ElementTree.parse(f"r/{plot}").getroot().tag.endswith("svg")
    assert "english" in json.loads(Path("r0/report.json").read_text())["fertility"]


def test_sizes_are_prefixes_and_an_extension_keeps_every_id(folder, capsysbinary):
    assert main(["train", *FLAGS, "-o", "mine", "--sizes", "300,350", "--save-counts", "c.counts.zst"]) == 0
    large, small = Tokenizer.open("mine"), Tokenizer.open("mine-300")
    assert small.merges == large.merges[: len(small.merges)]
    assert Tokenizer.open("mine-350").vocab_size == 350
    same = ["--vocab-size", "400", "--special-token", SPECIAL, "--pattern", "gpt2"]
    assert main(["train", "c.counts.zst", *same, "-o", "again"]) == 0
    assert Tokenizer.open("again").hash == large.hash
    assert main(["train", "corpus", "--field", "body", "--extend", "mine", "--vocab-size", "450", "-o", "longer"]) == 0
    longer = Tokenizer.open("longer")
    assert longer.vocab_size == 450
    assert all(longer.token_bytes(id) == large.token_bytes(id) for id in range(400))
    capsysbinary.readouterr()
    same = ["corpus", "--field", "body", "--extend", "mine", "-o", "x"]
    assert "--vocab-size: " in refused(capsysbinary, "invalid_settings", 2, [*same, "--vocab-size", "300"])


def test_a_settings_file_says_what_flags_say_and_flags_win(folder, capsysbinary):
    settings = {
        "corpus": {"paths": ["corpus"], "field": "body"},
        "vocab_size": 300,
        "pattern": "gpt2",
        "special_tokens": [SPECIAL],
    }
    Path("settings.json").write_text(json.dumps(settings), encoding="utf-8")
    assert main(["train", "--settings", "settings.json", "--vocab-size", "400", "-o", "one"]) == 0
    assert main(["train", *FLAGS, "-o", "two"]) == 0
    assert contents(Path("one"))["tokenizer.json"] == contents(Path("two"))["tokenizer.json"]
    assert Tokenizer.open("one").provenance == Tokenizer.open("two").provenance


def test_initial_merges_come_first(folder, capsysbinary):
    Path("merges.txt").write_text("#version: 0.2\nz z\nzz z\n", encoding="utf-8")
    assert main(["train", *FLAGS, "-o", "mine", "--initial-merges", "merges.txt"]) == 0
    assert Tokenizer.open("mine").merges[:2] == [(b"z", b"z"), (b"zz", b"z")]


def test_every_setting_of_a_recipe_has_its_flag(folder):
    recipe = Recipe.from_dict({"corpus": {"paths": ["corpus"], "language": "file"}, "parity": True}).to_dict()
    settings = {f"corpus.{key}" for key in recipe.pop("corpus")} | set(recipe) | set(ALL_FIELDS)
    assert {flag.field for flag in FLAGS_OF_SETTINGS} == settings - {
        "corpus.paths",
        "initial_merges",
        "chat_template",
        "extends_hash",
    }


def test_every_flag_is_documented(capsysbinary):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    # A switch has a form with `--no-`, which is said once.
    flags = set(re.findall(r"--(?!no-)[a-z-]+", capsysbinary.readouterr().out.decode())) - {"--help", "--output"}
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("training*.md"))
    # The page gives the rule by which a setting is a flag.
    named = (flag for flag in flags if f"`{flag[2:].replace('-', '_')}`" not in pages)
    assert {flag for flag in named if f"`{flag}" not in pages} == set()


def test_roles_and_a_chat_template_come_with_the_artifact(folder, capsysbinary):
    Path("chat.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}", encoding="utf-8")
    assert main(["train", *FLAGS, "-o", "mine", "--eos", SPECIAL, "--chat-template", "chat.jinja"]) == 0
    tokenizer = Tokenizer.open("mine")
    assert tokenizer.settings.eos == SPECIAL
    assert tokenizer.render_chat([{"role": "user", "content": "low"}]).text == "low"
    capsysbinary.readouterr()
    message = refused(capsysbinary, "invalid_settings", 2, [*FLAGS, "-o", "x", "--pad", "<pad>"])
    assert "--pad: " in message


def test_characters_are_learned_with_a_mark(folder, capsysbinary):
    Path("c.txt").write_text("low lower lowest newest widest", encoding="utf-8")
    flags = ["--level", "characters", "--vocab-size", "30", "--end-of-word", "_", "--tie-break", "lowest_ids"]
    assert main(["train", "c.txt", "-o", "characters", *flags, "--json"]) == 0
    said = json.loads(capsysbinary.readouterr().out)
    trained = characters_in_python(Path("c.txt"), 30, end_of_word="_", tie_break="lowest_ids")
    assert said == {"path": "characters", "tokens": 27, "characters": trained.alphabet, "merges": len(trained.merges)}
    trained.save("truth")
    assert contents(Path("characters")) == contents(Path("truth"))


def test_a_huge_piece_is_warned_of_in_one_line(folder, capsysbinary):
    Path("corpus/huge.jsonl").write_text(json.dumps({"body": "a" * 150_000}), encoding="utf-8")
    assert main(["train", *FLAGS, "-o", "mine"]) == 0
    lines = capsysbinary.readouterr().err.decode().splitlines()
    (warning,) = (line for line in lines if line.startswith("tokd: warning: "))
    assert "max_piece_length" in warning


@pytest.mark.parametrize(
    ("arguments", "code", "status", "word"),
    [
        (["-o", "x"], "usage", 2, "name a corpus"),
        (["corpus"], "usage", 2, "--output"),
        (["-o", "x", "--resume"], "usage", 2, "x.run holds no interrupted run to resume; name a corpus"),
        (["corpus", "-o", ""], "usage", 2, "--output is a directory to make"),
        (["corpus", "-o", "."], "usage", 2, "--output is a directory to make, which '.' cannot be"),
        (["corpus", "-o", "/", "--resume"], "usage", 2, "--output is a directory to make"),
        (["corpus", "-o", "..", "--level", "characters"], "usage", 2, "--output is a directory to make, which '..'"),
        *((["corpus", "-o", "x", flag, ""], "usage", 2, f"{flag}: it is empty") for flag in WRITTEN),
        (["corpus", "-o", "x", "--settings", ""], "unreadable_file", 1, "the name of a file is empty"),
        (["corpus", "-o", "x", "--pattern", "gpt2", "--no-pattern"], "usage", 2, "exclude"),
        (["corpus", "-o", "x", "--vocab-size", "many"], "usage", 2, "--vocab-size"),
        (["corpus", "-o", "x", "--sizes", "300,"], "usage", 2, "--sizes"),
        (["corpus", "-o", "x", "--tie-break", "random"], "usage", 2, "--tie-break"),
        (["corpus", "-o", "x", "--fertility", "de"], "usage", 2, "NAME=FILE"),
        (["corpus", "-o", "x", "--vocab-size", "0"], "invalid_settings", 2, "--vocab-size: "),
        (["corpus", "-o", "x", "--vocab-size", "255"], "invalid_settings", 2, "--vocab-size: "),
        (["corpus", "-o", "x", "--vocab-size", "1000000000"], "invalid_settings", 2, "--vocab-size: "),
        (["corpus", "-o", "x", "--sizes", "300,9"], "invalid_settings", 2, "--sizes: "),
        (["corpus", "-o", "x", "--special-token", ""], "invalid_settings", 2, "--special-token: "),
        (["corpus", "-o", "x", "--special-token", "<a>", "--special-token", "<a>"], "invalid_settings", 2, "twice"),
        (["corpus", "-o", "x", "--pattern", "(unclosed"], "invalid_settings", 2, "--pattern: "),
        (["corpus", "-o", "x", "--normalizer", "upper"], "invalid_settings", 2, "--normalizer: "),
        (["corpus", "-o", "x", "--max-token-length", "0"], "invalid_settings", 2, "--max-token-length: "),
        (["corpus", "-o", "x", "--sixteen-bit", "--vocab-size", "70000"], "invalid_settings", 2, "--vocab-size: "),
        (["corpus", "-o", "x", "--name", "../up"], "invalid_settings", 2, "--name: "),
        (["corpus", "-o", "x", "--extend", "nowhere"], "artifact_not_found", 1, "nowhere"),
        (["corpus", "-o", "x", "--against", "nowhere"], "artifact_not_found", 1, "nowhere"),
        (["corpus", "-o", "x", "--fertility", "de=nowhere"], "unreadable_file", 1, "nowhere"),
        (["corpus", "-o", "x", "--settings", "nowhere"], "unreadable_file", 1, "nowhere"),
        (["corpus", "-o", "x", "--initial-merges", "nowhere"], "unreadable_file", 1, "nowhere"),
        (["corpus", "-o", "x", "--end-of-word", "_"], "usage", 2, "--level characters"),
        (["corpus", "-o", "x", "--level", "letters"], "usage", 2, "--level"),
        (["-o", "x", "--level", "characters"], "usage", 2, "name a corpus"),
        (["corpus", "-o", "x", "--level", "characters", "--resume", "--sizes", "9"], "usage", 2, "--resume, sizes"),
        (["corpus", "-o", "x", "--level", "characters", "--vocab-size", "0"], "invalid_settings", 2, "--vocab-size: "),
        (["corpus", "-o", "x", "--level", "characters", "--end-of-word", " "], "invalid_settings", 2, "end_of_word"),
        (["corpus", "-o", "corpus"], "output_exists", 1, "corpus"),
        (["corpus", "-o", "x", "--report", "corpus"], "output_exists", 1, "corpus"),
        (["corpus", "-o", "x", "--save-counts", "corpus"], "output_exists", 1, "corpus"),
        (["corpus", "-o", "x", "--work", "corpus"], "output_exists", 1, "corpus"),
        *(
            ([*FLAGS, "-o", "x", *more], "usage", 2, "one place or one inside the other")
            for more in (
                ["--work", "x"],
                ["--work", "./x/run"],
                ["-o", "x/y", "--work", "x"],
                ["--sizes", "300", "--work", "x-300"],
                ["--report", "w/report", "--work", "w"],
                ["--save-counts", "w/c.counts", "--work", "w"],
                ["--save-counts", "x/c.counts"],
                ["-o", "x/y", "--report", "x"],
            )
        ),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_that_names_the_flag(folder, capsysbinary, arguments, code, status, word):
    assert word in refused(capsysbinary, code, status, arguments)


def test_a_place_that_is_taken_is_refused_before_any_work(folder, capsysbinary):
    Path("mine-300").mkdir()
    assert "mine-300" in refused(capsysbinary, "output_exists", 1, [*FLAGS, "-o", "mine", "--sizes", "300"])
    Path("mine").mkdir()
    refused(capsysbinary, "output_exists", 1, [*FLAGS, "-o", "mine", "--resume"])


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (
            ["--save-counts", "nowhere/c.counts"],
            "nowhere/c.counts: no such file or directory; make the directory nowhere",
        ),
        (["--save-counts", "corpus/a.jsonl/c.counts"], "corpus/a.jsonl/c.counts: not a directory"),
        (["--save-counts", "/proc/c.counts"], "/proc/c.counts: no such file or directory"),
        (["--save-counts", "c" * 256], f"{'c' * 256}: file name too long"),
        (["--report", "corpus/a.jsonl/new/report"], "corpus/a.jsonl/new/report/report.json: not a directory"),
        (["--report", "/proc/new/report"], "/proc/new/report/report.json: no such file or directory"),
        (["-o", "/proc/new/mine", "--work", "work", "--report", "report"], "/proc/new/mine: no such file or directory"),
    ],
    ids=str,
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(folder, capsysbinary, flags, word):
    message = refused(capsysbinary, "unwritable_output", 1, [*FLAGS, "-o", "mine", *flags])
    assert message == f"tokd: error: unwritable_output: {word}\n"


def test_a_file_where_the_report_goes_is_refused_before_any_work(folder, capsysbinary):
    Path("mine.report").write_text("mine", encoding="utf-8")
    message = refused(capsysbinary, "unwritable_output", 1, [*FLAGS, "-o", "mine"])
    assert "mine.report/report.json: not a directory" in message
    assert Path("mine.report").read_text(encoding="utf-8") == "mine"


def test_characters_that_cannot_be_written_are_refused_before_any_work(folder, capsysbinary):
    flags = ["--field", "body", "--level", "characters", "-o", "nowhere/mine"]
    assert "nowhere/mine: no such" in refused(capsysbinary, "unwritable_output", 1, ["corpus", *flags])


def test_a_run_that_fails_leaves_nothing_where_its_counts_and_report_go(folder, capsysbinary):
    Path("bad.txt").write_bytes(b"abc\xff")
    before = sorted(folder.rglob("*"))
    assert main(["train", "bad.txt", "-o", "mine", "--save-counts", "c.counts", "--report", "new/report"]) == 1
    assert sorted(folder.rglob("*")) == before


def test_a_work_directory_is_no_link(folder, capsysbinary):
    Path("held").mkdir()
    for target in ("held", "nowhere"):
        Path("link").unlink(missing_ok=True)
        Path("link").symlink_to(target)
        assert "link is a link" in refused(capsysbinary, "output_exists", 1, [*FLAGS, "-o", "mine", "--work", "link"])


def test_a_report_may_lie_in_its_artifact(folder, capsysbinary):
    assert main(["train", *FLAGS, "-o", "mine", "--report", "mine/report"]) == 0
    assert json.loads(Path("mine/report/report.json").read_text())["hash"] == Tokenizer.open("mine").hash


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"vocab_size": 1, "vocab_size": 2}', "stands twice"),
        ('{"vocabulary": 1}', "vocabulary"),
        ('{"vocab_size": "300"}', "vocab_size"),
        ('{"vocab_size": NaN}', "NaN"),
        ('{"corpus": []}', "corpus"),
        ('{"corpus": {"texts": []}}', "corpus"),
        ('{"special_tokens": ["<a>", ""]}', "special_tokens[1]"),
    ],
)
def test_a_wrong_settings_file_is_named_with_the_field(folder, capsysbinary, settings, word):
    Path("s.json").write_text(settings, encoding="utf-8")
    corpus = [] if "texts" in settings else ["corpus"]
    message = refused(capsysbinary, "invalid_settings", 2, [*corpus, "-o", "x", "--settings", "s.json"])
    assert "s.json" in message
    assert word in message


@pytest.mark.parametrize(
    ("name", "content", "flags", "code"),
    [
        ("empty.txt", b"", [], "empty_corpus"),
        ("bad.txt", b"abc\xff", [], "invalid_utf8"),
        ("bad.jsonl", b'{"body": "a"}\n', [], "invalid_corpus"),
        ("what.bin", b"abc", [], "invalid_corpus"),
        ("cut.txt.gz", b"\x1f\x8b\x08\x00", [], "invalid_corpus"),
        ("bad.parquet", b"PAR1", [], "invalid_corpus"),
    ],
)
def test_a_wrong_corpus_is_one_line_and_can_be_mended(folder, capsysbinary, name, content, flags, code):
    Path(name).write_bytes(content)
    assert main(["train", name, *flags, "-o", "x", "--vocab-size", "260"]) == 1
    message = capsysbinary.readouterr().err.decode().splitlines()[-1]
    assert message.startswith(f"tokd: error: {code}: "), message
    assert not Path("x").exists()
    assert not Path("x.run").exists()


def test_lines_that_cannot_be_read_stop_the_run_or_are_skipped_and_told(folder, capsysbinary):
    lines = [json.dumps({"text": f"words of line {number}"}) for number in range(20)]
    Path("torn.jsonl").write_text("\n".join([*lines[:3], '{"text": null}', *lines[3:], '{"text": "a", "x": NaN}']))
    assert main(["train", "torn.jsonl", "-o", "mine"]) == 1
    assert b'torn.jsonl: line 4, column 13: the field "text" is null, not a string' in capsysbinary.readouterr().err
    command = ["train", "torn.jsonl", "-o", "mine", "--vocab-size", "300", "--on-error", "skip"]
    assert main(command) == 0
    place = 'torn.jsonl: line 4, column 13: the field "text" is null'
    assert f"2 lines that cannot be read, first {place}" in capsysbinary.readouterr().out.decode()
    skipped = json.loads(Path("mine.report/report.json").read_text())["skipped"]
    assert (skipped["lines"], skipped["first"][1]) == (2, "torn.jsonl: line 22, column 20: NaN is not JSON; write null")
    assert Tokenizer.open("mine").hash == train_in_python(iter(json.loads(line)["text"] for line in lines), 300).hash
