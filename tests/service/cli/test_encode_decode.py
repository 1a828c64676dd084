"""``tokd encode`` and ``tokd decode``: bytes in and bytes out."""

import json
import re
import sys

import pytest
from tokenizers import Tokenizer as Peer
from tokenizers.models import Unigram

from service.cli.encode import wants_colours
from tests.service.cli.processes import ROOT, TEXT, assert_refused, run_in, succeed
from tests.support import families


def test_encode_prints_the_ids_of_an_argument(tokd, tokenizer):
    ids = [int(word) for word in succeed(tokd("encode", TEXT)).split()]
    assert ids == tokenizer.encode(TEXT).tolist()


def test_encode_takes_argument_file_and_standard_input_alike(tokd, tmp_path):
    (tmp_path / "text").write_bytes(TEXT.encode())
    by_argument = succeed(tokd("encode", TEXT))
    assert succeed(tokd("encode", "--file", str(tmp_path / "text"))) == by_argument
    assert succeed(tokd("encode", stdin=TEXT.encode())) == by_argument
    assert succeed(tokd("encode", "--file", "-", stdin=TEXT.encode())) == by_argument


def test_encode_json_holds_ids_count_and_hash(tokd, tokenizer):
    answer = json.loads(succeed(tokd("encode", TEXT, "--json")))
    ids = tokenizer.encode(TEXT).tolist()
    assert answer == {"ids": ids, "count": len(ids), "tokenizer": tokenizer.hash}


def test_count_equals_the_number_of_ids(tokd, tokenizer):
    assert succeed(tokd("encode", TEXT, "--count")) == b"%d\n" % len(tokenizer.encode(TEXT))
    assert json.loads(succeed(tokd("encode", TEXT, "--count", "--json")))["count"] == len(tokenizer.encode(TEXT))


def test_nothing_encodes_to_nothing(tokd):
    assert succeed(tokd("encode", "")) == b"\n"
    assert succeed(tokd("encode", stdin=b"")) == b"\n"
    assert succeed(tokd("encode", "", "--count")) == b"0\n"
    assert succeed(tokd("decode", stdin=b"")) == b""


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_offsets_are_those_of_the_library(tokd, tokenizer, unit):
    found = tokenizer.offsets(TEXT, unit=unit)
    answer = json.loads(succeed(tokd("encode", TEXT, "--offsets", "--unit", unit, "--json")))
    assert (answer["ids"], answer["spans"], answer["unit"]) == (found.ids.tolist(), found.spans.tolist(), unit)
    lines = succeed(tokd("encode", TEXT, "--offsets", "--unit", unit)).decode().splitlines()
    assert [[int(field) for field in line.split("\t")[:3]] for line in lines] == [
        [id, *span] for id, span in zip(found.ids.tolist(), found.spans.tolist(), strict=True)
    ]


def test_offsets_show_control_characters_as_escapes(tokd):
    shown = succeed(tokd("encode", "a\x1b[31m\tb\n", "--offsets")).decode()
    assert "\x1b" not in shown
    assert all(line.count("\t") == 3 for line in shown.splitlines())


def test_special_tokens_mean_what_was_said(tokd, tokenizer):
    literal, id = "<|im_end|>", tokenizer.special_tokens["<|im_end|>"]
    assert_refused(
        tokd("encode", f"a{literal}"), "reserved_literal", 1, literal, "character 1", "--special-tokens text"
    )
    assert str(id).encode() in succeed(tokd("encode", f"a{literal}", "--special-tokens", "parse")).split()
    assert str(id).encode() not in succeed(tokd("encode", f"a{literal}", "--special-tokens", "text")).split()


@pytest.mark.parametrize("separate", [" ".join, ",".join, "\n".join, ", ".join, lambda ids: f"[{', '.join(ids)}]\n"])
def test_decode_reads_ids_however_they_are_separated(tokd, tokenizer, separate):
    ids = [str(id) for id in tokenizer.encode(TEXT).tolist()]
    assert succeed(tokd("decode", stdin=separate(ids).encode())) == TEXT.encode()
    assert succeed(tokd("decode", separate(ids))) == TEXT.encode()


def test_encode_then_decode_returns_every_byte(tokd):
    text = "a\r\n\u2028 \x00 👩‍👩‍👧‍👦 \ufffd\U0010ffff\n\n".encode()
    assert succeed(tokd("decode", stdin=succeed(tokd("encode", stdin=text)))) == text


def test_decode_bytes_keeps_half_a_character(tokd, tokenizer):
    id = next(id for id in range(256) if tokenizer.token_bytes(id) == b"\xff")
    assert succeed(tokd("decode", "--bytes", str(id))) == b"\xff"
    assert succeed(tokd("decode", str(id))) == "\ufffd".encode()
    assert json.loads(succeed(tokd("decode", "--json", str(id))))["text"] == "\ufffd"


def test_decode_skips_special_tokens_when_told(tokd, tokenizer):
    ids = [str(id) for id in tokenizer.encode("a<|im_end|>b", special_tokens="parse").tolist()]
    assert succeed(tokd("decode", *ids)) == b"a<|im_end|>b"
    assert succeed(tokd("decode", "--skip-special-tokens", *ids)) == b"ab"


@pytest.mark.parametrize("command", [("encode", "a"), ("decode", "1")])
def test_in_any_folder_a_command_takes_the_installed_artifact(command, tmp_path):
    assert succeed(run_in(tmp_path, *command)) == succeed(run_in(ROOT, *command))


@pytest.mark.parametrize("place", ["hf", "hf/tokenizer.json"])
def test_files_of_a_model_are_answered_with_what_makes_an_artifact_of_them(tokd, place):
    assert_refused(tokd("encode", "a", "--tokenizer", place), "artifact_not_found", 1, f"tokd import {place} -o DIR")
    assert_refused(tokd("inspect", place), "artifact_not_found", 1, "tokd import")


def test_colours_stand_below_the_ids_where_they_are_asked_for(tokd, tokenizer):
    plain = succeed(tokd("encode", TEXT))
    assert succeed(tokd("encode", TEXT, "--color", "never")) == plain
    ids, tokens = succeed(tokd("encode", TEXT, "--color", "always")).decode().splitlines()
    assert f"{ids}\n".encode() == plain
    shown = re.findall(r"\x1b\[30;48;5;\d+m([^\x1b]*)\x1b\[0m", tokens)
    assert len(shown) == len(plain.split())
    assert "\x1b" not in "".join(shown)


@pytest.mark.parametrize("unit", ["char", "byte"])
def test_the_table_has_number_id_span_and_text_of_every_token(tokd, tokenizer, unit):
    heading, *lines = succeed(tokd("encode", TEXT, "--table", "--unit", unit)).decode().splitlines()
    found = tokenizer.offsets(TEXT, unit)
    assert heading.split() == ["#", "id", unit, "end", "token"]
    rows = [[int(cell) for cell in line.split()[:4]] for line in lines]
    spans = zip(found.ids.tolist(), found.spans.tolist(), strict=True)
    assert rows == [[number, id, start, end] for number, (id, (start, end)) in enumerate(spans, 1)]
    plain = succeed(tokd("encode", TEXT, "--offsets", "--unit", unit)).decode().splitlines()
    begin = heading.index("token")
    assert [line[begin:] for line in lines] == [line.split("\t")[3] for line in plain]
    shown = succeed(tokd("encode", TEXT, "--table", "--unit", unit, "--color", "always")).decode().splitlines()
    assert [re.sub(r"\x1b\[(30;48;5;\d+|0)m", "", line) for line in shown] == [heading, *lines]


def test_the_table_of_no_text_is_its_headings(tokd):
    assert succeed(tokd("encode", "", "--table")) == b"#  id  char  end  token\n"


def test_a_token_never_writes_a_sequence_of_its_own_to_the_terminal(tokd):
    _, tokens = succeed(tokd("encode", "\x1b[31mred", "--color", "always")).decode().splitlines()
    assert re.sub(r"\x1b\[(30;48;5;\d+|0)m", "", tokens) == "\\x1b[31mred"


@pytest.mark.parametrize(
    ("choice", "is_terminal", "variable", "expected"),
    [("auto", True, None, True), ("auto", True, "1", False), ("auto", True, "", True), ("auto", False, None, False),
     ("always", False, "1", True), ("never", True, None, False)],
)  # fmt: skip
def test_colours_are_for_terminals_that_want_them(monkeypatch, choice, is_terminal, variable, expected):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if variable is not None:
        monkeypatch.setenv("NO_COLOR", variable)
    assert wants_colours(choice) is expected


def test_drawn_ids_are_those_of_the_library(tokd, tokenizer):
    ids = tokenizer.encode(TEXT, dropout=0.5, seed=7).tolist()
    assert ids != tokenizer.encode(TEXT).tolist()
    assert [int(word) for word in succeed(tokd("encode", TEXT, "--dropout", "0.5", "--seed", "7")).split()] == ids
    assert_refused(tokd("encode", TEXT, "--dropout", "0.5"), "invalid_option", 1, "seed")
    assert_refused(tokd("encode", TEXT, "--dropout", "0.5", "--seed", "7", "--count"), "usage", 2, "--count")
    assert_refused(tokd("encode", TEXT, "--best", "3"), "invalid_option", 1, "BPE")


def test_the_best_segmentations_are_listed_with_their_scores(tokd, tmp_path):
    tokenizer = families.opened(Peer(Unigram([("<unk>", 0.0), ("a", -2.0), ("b", -2.5), ("ab", -3.0)], 0)), tmp_path)
    artifact = str(tmp_path / "artifact")
    tokenizer.save(artifact)
    listed = succeed(tokd("encode", "aba", "--best", "2", "-t", artifact)).decode().splitlines()
    assert listed == ["-5.0000\t3 1", "-6.5000\t1 2 1"]
    answer = json.loads(succeed(tokd("encode", "aba", "--best", "2", "-t", artifact, "--json")))
    assert answer["segmentations"][0] == {"ids": [3, 1], "score": -5.0}
    drawn = succeed(tokd("encode", "aba", "--alpha", "0", "--nbest", "1", "--seed", "1", "-t", artifact))
    assert drawn == b"3 1\n"
