"""Rank files: the recovered merges give tiktoken's ids, and every refusal names its line."""

from __future__ import annotations

import base64
import random

import pytest
import tiktoken as peer
from tokenizers import Tokenizer as HuggingFace

from tests.core.formats.small import document, write
from tests.support.data import needs_data, shared
from tests.support.tiny_ranks import BYTES, lines
from tokenizer_core import Tokenizer
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.errors import TokdError
from tokenizer_core.formats import hf_json, tiktoken
from tokenizer_core.patterns import PATTERNS


def merges_by_definition(ranks: dict[bytes, int]) -> list[tuple[int, int, int]]:
    """For every token: merge its own bytes, lowest rank and leftmost first, and see what the last merge was."""
    found = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts, last = [bytes([byte]) for byte in token], None
        while True:
            joined = [(ranks.get(parts[i] + parts[i + 1], 1 << 32), i) for i in range(len(parts) - 1)]
            lowest, i = min(joined, default=(1 << 32, 0))
            if lowest == 1 << 32:
                break
            last = (ranks[parts[i]], ranks[parts[i + 1]], lowest)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 1 and last is not None:
            assert last[2] == rank
            found.append(last)
    return found


def shuffled_ranks(seed: int) -> dict[bytes, int]:
    """Tokens over three letters under ranks in no order at all, so that many are never reached."""
    source = random.Random(seed)
    tokens = {bytes(source.choices(b"abc", k=source.randint(2, 9))) for _ in range(60)}
    ids = source.sample(range(1000), 256 + len(tokens))
    return dict(zip([*BYTES, *sorted(tokens)], ids, strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_recovered_merges_are_those_of_the_definition(seed):
    ranks = shuffled_ranks(seed)
    assert Vocabulary.from_tiktoken(lines(ranks)).merge_ids() == merges_by_definition(ranks)


@pytest.mark.parametrize("seed", range(40))
def test_ranks_in_no_order_give_tiktokens_ids(seed, tmp_path):
    ranks = shuffled_ranks(seed)
    path = tmp_path / "odd.tiktoken"
    path.write_bytes(lines(ranks))
    pattern = r"[\s\S]+"
    ours = Tokenizer.from_tiktoken(path, pattern=pattern, special_tokens={"<|x|>": 2000})
    theirs = peer.Encoding("odd", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|x|>": 2000})
    source = random.Random(seed)
    for _ in range(200):
        text = "".join(source.choices("abcd", k=source.randint(0, 30)))
        assert ours.encode(text).tolist() == theirs.encode(text), (seed, text)
    ours.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == ours.hash
    assert tiktoken.render(ours.parts) == lines(dict(sorted(ranks.items(), key=lambda item: item[1])))


def test_a_long_token_costs_no_more_than_its_length():
    # Every prefix of one token is a token: 2,000 merges in a chain for the longest.
    chain = {b"a" * length: 256 + length for length in range(2, 2001)}
    assert len(Vocabulary.from_tiktoken(lines(BYTES | chain)).merges()) == 1999
    # One token of a million bytes that nothing leads to.
    lonely = {b"ab" * 500_000: 256, b"ab": 257}
    assert Vocabulary.from_tiktoken(lines(BYTES | lonely)).merges() == [(b"a", b"b")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_a_missing_last_one_change_nothing(end):
    whole = Vocabulary.from_tiktoken(lines(BYTES | {b"ab": 256})).digest
    data = lines(BYTES | {b"ab": 256}, end)
    assert Vocabulary.from_tiktoken(data).digest == whole
    assert Vocabulary.from_tiktoken(data.removesuffix(end.encode())).digest == whole


def line(text: str, at: int = 3) -> bytes:
    written = lines(BYTES).decode().splitlines()
    return "\n".join([*written[: at - 1], text, *written[at - 1 :]]).encode()


REFUSED = [
    (line("QUI= -1"), "id_out_of_range", "line 3"),
    (line("QUI= 4194304"), "id_out_of_range", "line 3"),
    (line("QUI= 99999999999999999999999"), "id_out_of_range", "line 3"),
    (line("QUI= 7"), "duplicate_id", "line 9"),
    (line("QQ== 300"), "duplicate_token", "line 67"),
    (line("QUI 300"), "invalid_file", "line 3"),
    (line("QUJ= 300"), "invalid_file", "line 3"),
    (line("!!!! 300"), "invalid_file", "line 3"),
    (line("QUI="), "invalid_file", "line 3"),
    (line("QUI= 300 1"), "invalid_file", "line 3"),
    (line("QUI=  300"), "invalid_file", "line 3"),
    (line("QUI= +300"), "invalid_file", "line 3"),
    (line("QUI= 3e2"), "invalid_file", "line 3"),
    (line("QUI= ٣"), "invalid_file", "line 3"),
    (line(" 300"), "invalid_file", "line 3"),
    (line(""), "invalid_file", "line 3"),
    (lines(BYTES) + b"\n", "invalid_file", "line 257"),
    (b"", "invalid_file", "line 1"),
    (b"\xff\xfe" + lines(BYTES), "invalid_file", "line 1"),
]


@pytest.mark.parametrize(
    ("data", "code", "field"), REFUSED, ids=[f"{code}-{i}" for i, (_, code, _) in enumerate(REFUSED)]
)
def test_broken_lines_are_refused_with_their_number(data, code, field):
    with pytest.raises(TokdError) as caught:
        Vocabulary.from_tiktoken(data)
    assert (caught.value.code, caught.value.place["field"]) == (code, field)


def test_a_missing_byte_is_refused():
    with pytest.raises(TokdError, match="0x41") as caught:
        Vocabulary.from_tiktoken(lines({token: rank for token, rank in BYTES.items() if token != b"A"}))
    assert caught.value.code == "missing_byte"


@pytest.mark.parametrize(
    ("special", "code"),
    [
        ({"<|x|>": 65}, "id_conflict"),
        ({"ab": 300}, "id_conflict"),
        ({"<|x|>": 300, "<|y|>": 300}, "duplicate_id"),
        ({"<|x|>": -1}, "id_out_of_range"),
        ({"<|x|>": 2**31}, "id_out_of_range"),
        ({"<|x|>": 2**70}, "id_out_of_range"),
        ({"<|x|>": True}, "id_out_of_range"),
        ({"": 300}, "invalid_file"),
        ({"\ud800": 300}, "invalid_file"),
        (["<|x|>"], "invalid_option"),
        ({300: "<|x|>"}, "invalid_option"),
    ],
)
def test_special_tokens_that_cannot_be_are_refused(special, code, tmp_path):
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(lines(BYTES | {b"ab": 256}))
    with pytest.raises(TokdError) as caught:
        tiktoken.read(path, pattern="gpt2", special_tokens=special)
    assert caught.value.code == code


@pytest.mark.parametrize("pattern", [None, 5, b"cl100k_base"])
def test_a_pattern_is_a_string(pattern, tmp_path):
    (tmp_path / "ranks.tiktoken").write_bytes(lines(BYTES))
    with pytest.raises(TokdError, match="pattern is a string") as caught:
        Tokenizer.from_tiktoken(tmp_path / "ranks.tiktoken", pattern=pattern)
    assert (caught.value.code, caught.value.place["field"]) == ("invalid_option", "pattern")


@pytest.mark.parametrize("pattern", ["", "cl100k", "gpt-2", r"a\Kb", r"\Ga", r"(?Rm)a$", "("])
def test_patterns_are_never_guessed(pattern, tmp_path):
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(lines(BYTES))
    with pytest.raises(TokdError) as caught:
        Tokenizer.from_tiktoken(path, pattern=pattern)
    assert caught.value.code == "invalid_pattern"


@pytest.mark.parametrize(
    "pattern",
    [r"a$|^b|\s+|\S", r"(?s).{1,3}|\n", r"'(?i:[sdmt]|ll)|\w++|[^$^]|[$^]|\s++$|\s", r"(?m)^a|\w{1,2}+|\s|\W"],
)
def test_expressions_mean_what_they_mean_to_tiktoken(pattern, tmp_path):
    ranks = BYTES | {b"a\n": 256, b"\n ": 257, b"\n\n": 258, b"ab": 259, b"  ": 260, b"'s": 261}
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(lines(ranks))
    ours = Tokenizer.from_tiktoken(path, pattern=pattern)
    theirs = peer.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for text in ("a\nb a", "b\nb\n", "a\n\n  ", "ab's 'S\n \n", "$a^b$ \n", "é a\n"):
        assert ours.encode(text).tolist() == theirs.encode(text), text


def test_text_outside_the_matches_is_an_error_and_never_dropped(tmp_path):
    # The vector pattern-uncovered: tiktoken drops it without a word.
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(lines(BYTES))
    tokenizer = Tokenizer.from_tiktoken(path, pattern=r"\p{L}+")
    assert tokenizer.encode("abc").tolist() == [97, 98, 99]
    with pytest.raises(TokdError) as caught:
        tokenizer.encode("a1 b!c")
    assert (caught.value.code, caught.value.place) == ("uncovered_text", {"span": [1, 3], "unit": "char"})
    tokenizer.save(tmp_path / "saved")
    assert Tokenizer.open(tmp_path / "saved").hash == tokenizer.hash


CL100K_TODAY = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


@needs_data
def test_tiktokens_own_spelling_of_cl100k_is_read(tmp_path):
    path = shared("vocabs/cl100k_base.tiktoken")
    named = Tokenizer.from_tiktoken(path, pattern="cl100k_base")
    spelled = Tokenizer.from_tiktoken(path, pattern=CL100K_TODAY)
    ranks = {}
    for row in path.read_bytes().splitlines():
        token, rank = row.split()
        ranks[base64.b64decode(token)] = int(rank)
    theirs = peer.Encoding("x", pat_str=CL100K_TODAY, mergeable_ranks=ranks, special_tokens={})
    for text in (
        "a\n  ",
        " \n \n b'LL 1234567",
        "x\u0085\u2028 \t",
        shared("corpora/code.txt").read_text("utf-8")[:9999],
    ):
        assert named.encode(text).tolist() == spelled.encode(text).tolist() == theirs.encode(text), text


def test_ranks_are_not_written_where_they_would_give_other_ids(tmp_path):
    whole = document()
    whole["model"]["merges"] = whole["model"]["merges"][::-1]
    parts = hf_json.read(write(tmp_path, whole))
    with pytest.raises(TokdError) as caught:
        tiktoken.render(parts)
    assert caught.value.code == "unsupported"


@needs_data
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_public_rank_files_read_write_and_save_as_they_are(name, tmp_path):
    path = shared(f"vocabs/{name}.tiktoken")
    tokenizer = Tokenizer.from_tiktoken(path, pattern=name, special_tokens={"<|endoftext|>": 200_500})
    assert tiktoken.render(tokenizer.parts) == path.read_bytes()
    tokenizer.save(tmp_path / name)
    assert Tokenizer.open(tmp_path / name).hash == tokenizer.hash


@needs_data
def test_exported_ranks_give_llama3s_ids_in_tiktoken():
    tokenizer = Tokenizer.from_hf(shared("vocabs/llama3_tokenizer.json"))
    ranks = {}
    for row in tiktoken.render(tokenizer.parts).splitlines():
        token, rank = row.split()
        ranks[base64.b64decode(token)] = int(rank)
    encoding = peer.Encoding("llama3", pat_str=PATTERNS["cl100k_base"], mergeable_ranks=ranks, special_tokens={})
    for corpus in ("english", "ja", "code"):
        text = shared(f"corpora/{corpus}.txt").read_text("utf-8")[:50_000]
        assert tokenizer.encode(text).tolist() == encoding.encode_ordinary(text)


def test_the_empty_token_is_an_id_without_text(tmp_path):
    # So ends Whisper's multilingual.tiktoken; tiktoken decodes "=" to the empty token, which is in no text.
    ranks = BYTES | {b"th": 256, b"the": 257}
    path = tmp_path / "whisper.tiktoken"
    path.write_bytes(lines(ranks) + b"= 258\n")
    ours = Tokenizer.from_tiktoken(path, pattern="gpt2", special_tokens={"<|end|>": 259})
    theirs = peer.Encoding(
        "whisper", pat_str=PATTERNS["gpt2"], mergeable_ranks=ranks | {b"": 258}, special_tokens={"<|end|>": 259}
    )
    for text in ("the then\n\n é 12", "", "=", " ", "th" * 50):
        assert ours.encode(text).tolist() == theirs.encode_ordinary(text)
    assert ours.vocab_size == theirs.n_vocab == 260
    ours.save(tmp_path / "saved")
    again = Tokenizer.open(tmp_path / "saved")
    assert again.hash == ours.hash
    (tmp_path / "hole.tiktoken").write_bytes(lines(ranks))
    hole = Tokenizer.from_tiktoken(tmp_path / "hole.tiktoken", pattern="gpt2", special_tokens={"<|end|>": 259})
    assert hole.hash != ours.hash
    for ids in ([258], [116, 258, 104, 257], [258] * 40 + [256] * 40):
        assert ours.decode_bytes(ids) == again.decode_bytes(ids) == theirs.decode_bytes(ids)
    assert ours.token_bytes(258) == b""
    assert tiktoken.render(again.parts) == lines(ranks) + b"= 258\n"
    hf = HuggingFace.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    assert hf.decode([116, 258, 104]) == again.decode([116, 258, 104])
    path.write_bytes(lines(ranks) + b"= 258\n= 259\n")
    with pytest.raises(TokdError, match="more than one token is empty"):
        Tokenizer.from_tiktoken(path, pattern="gpt2")
    path.write_bytes(lines(ranks) + b"= 257\n")
    with pytest.raises(TokdError, match="the rank 257 stands twice"):
        Tokenizer.from_tiktoken(path, pattern="gpt2")
