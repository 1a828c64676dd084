"""``tokd import`` and ``tokd export``: the same ids in every format, and nothing guessed."""

import json
import os
from pathlib import Path

import pytest
from tokenizers import Tokenizer as HuggingFace

from service.cli.streams import CommandError, create
from tests.service.cli.processes import TEXT, assert_refused, succeed
from tests.support.tokenizers import CONFIG, GPT2_PATTERN, SPECIALS, write_layout
from tokenizer_core import Tokenizer


def test_import_of_every_format_gives_the_same_ids(tokd, tmp_path, tokenizer):
    exported = {}
    for format, name in (("huggingface", "layout"), ("tiktoken", "ranks.tiktoken"), ("vocab_merges", "pair")):
        artifact = Tokenizer.from_hf(write_plain(tmp_path / "plain"))
        if not (tmp_path / "source").exists():
            artifact.save(tmp_path / "source")
        succeed(tokd("export", str(tmp_path / "source"), "--format", format, "-o", str(tmp_path / name)))
        exported[format] = tmp_path / name
    beside = ["--pattern", "gpt2", *(f"--special-token={s}={i}" for s, i in tokenizer.special_tokens.items())]
    commands = {
        "huggingface": [str(exported["huggingface"])],
        "huggingface file": [str(exported["huggingface"] / "tokenizer.json")],
        "tiktoken": [str(exported["tiktoken"]), *beside],
        "vocab_merges": [str(exported["vocab_merges"] / file) for file in ("vocab.json", "merges.txt")] + beside,
        "vocab_merges directory": [str(exported["vocab_merges"]), *beside],
    }
    truth = tokenizer.encode(TEXT * 20).tolist()
    for number, (format, arguments) in enumerate(commands.items()):
        output = tmp_path / f"again-{number}"
        answer = json.loads(succeed(tokd("import", *arguments, "-o", str(output), "--json")))
        assert answer["format"] == format.split()[0]
        again = Tokenizer.open(output)
        assert (again.name, again.hash) == (answer["name"], answer["hash"])
        assert again.encode(TEXT * 20).tolist() == truth, format
        assert again.special_tokens == tokenizer.special_tokens, format


def test_paths_that_are_not_text_are_shown_with_escapes(tokd, tmp_path, tokenizer):
    tokenizer.save(tmp_path / "source")
    (tmp_path / "corpus.txt").write_text(TEXT * 20)

    def path(name: str) -> str:
        return os.fsdecode(os.fsencode(tmp_path / name) + b"\xff\x1b[31m")

    commands = [
        *(
            ["export", str(tmp_path / "source"), "--format", form, "-o", path(form)]
            for form in ("huggingface", "tiktoken", "vocab_merges")
        ),
        ["import", path("huggingface"), "-o", path("imported")],
        ["import", path("huggingface"), "-o", path("json"), "--json"],
        ["train", str(tmp_path / "corpus.txt"), "-o", path("letters"), "--level", "characters", "--vocab-size", "40"],
    ]
    corpus = str(tmp_path / "corpus.txt")
    commands.append(
        ["train", corpus, "-o", path("bytes"), "--vocab-size", "260", "--fertility", f"{path('n')}={corpus}"]
    )
    for command in commands:
        said = tokd(*command)
        assert said.returncode == 0, said.stderr
        shown = said.stdout.decode()
        assert "\\udcff\\x1b[31m" in shown or "\\udcff\\u001b[31m" in shown, shown
        assert "\x1b" not in shown
        assert Path(command[command.index("-o") + 1]).exists()


@pytest.mark.parametrize("content", [b"one file", {"of": b"many", "files": b""}])
def test_a_write_that_fails_leaves_nothing(content, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(CommandError, match="no space left"):
        create(tmp_path / "out", content)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"text", {"name": b"text"}])
def test_a_place_below_a_file_is_told_by_its_own_name(tmp_path, content):
    (tmp_path / "file").touch()
    with pytest.raises(CommandError, match="file/x: not a directory") as caught:
        create(tmp_path / "file" / "x", content)
    assert caught.value.code == "unwritable_output"


def test_import_tells_what_a_template_reads_and_no_token_is(tokd, tmp_path, tokenizer):
    plain = str(write_plain(tmp_path / "plain"))
    (tmp_path / "template").write_text("{{ bos_token }}{{ sep_token }}{% if eos_token %}{{ eos_token }}{% endif %}")
    given = [plain, "--chat-template", str(tmp_path / "template")]
    said = tokd("import", *given, "-o", str(tmp_path / "a"))
    told = (
        "the chat template default reads bos_token, sep_token, which no token is: its chats lack it; give --bos-token"
    )
    assert succeed(said).decode().splitlines()[-1] == told
    assert said.stderr == b""
    given += ["--bos-token", next(iter(tokenizer.special_tokens)), "-o", str(tmp_path / "b")]
    told = "the chat template default reads sep_token, which no token is: its chats lack it; name it in "
    assert succeed(tokd("import", *given)).decode().splitlines()[-1] == told + "tokenizer_config.json"
    answer = json.loads(succeed(tokd("import", *given[:-1], str(tmp_path / "c"), "--json")))
    assert answer["missing_tokens"] == {"default": ["sep_token"]}
    assert tokd("check", str(tmp_path / "c")).returncode == 1


def write_plain(directory: Path) -> Path:
    return write_layout(directory, config={name: CONFIG[name] for name in CONFIG if name != "chat_template"})


def test_exported_layout_gives_hugging_face_the_same_ids(tokd, tmp_path, tokenizer):
    succeed(tokd("export", "artifacts/base", "--format", "huggingface", "-o", str(tmp_path / "out")))
    peer = HuggingFace.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert peer.encode(TEXT).ids == tokenizer.encode(TEXT).tolist()
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_exported_ranks_give_tiktoken_the_same_ids(tokd, tmp_path, tokenizer):
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    said = json.loads(
        succeed(tokd("export", "artifacts/base", "--format", "tiktoken", "-o", str(tmp_path / "r"), "--json"))
    )
    peer = tiktoken.Encoding(
        "exported",
        pat_str=said["regex"],
        mergeable_ranks=load_tiktoken_bpe(str(tmp_path / "r")),
        special_tokens=said["special_tokens"],
    )
    assert peer.encode_ordinary(TEXT * 20) == tokenizer.encode(TEXT * 20).tolist()
    assert said["special_tokens"] == tokenizer.special_tokens


def test_exported_pair_gives_hugging_face_the_same_ids(tokd, tmp_path, tokenizer):
    from tokenizers import Regex, models, pre_tokenizers

    succeed(tokd("export", "artifacts/base", "--format", "vocab_merges", "-o", str(tmp_path / "p")))
    peer = HuggingFace(models.BPE.from_file(str(tmp_path / "p" / "vocab.json"), str(tmp_path / "p" / "merges.txt")))
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT2_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    assert peer.encode(TEXT).ids == tokenizer.encode(TEXT).tolist()


@pytest.mark.parametrize("format", ["tiktoken", "vocab_merges"])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"normalizer": {"type": "NFC"}}, "normalizer"),
        ({"added": {"lstrip": True}}, "lstrip"),
        ({"added": {"special": False}}, "special"),
    ],
)
def test_export_refuses_by_name_what_the_format_cannot_carry(tokd, tmp_path, format, change, field):
    layout = write_plain(tmp_path / "hf")
    document = json.loads((layout / "tokenizer.json").read_text())
    if "normalizer" in change:
        document["normalizer"] = change["normalizer"]
    else:
        document["added_tokens"][1] |= change["added"]
    (layout / "tokenizer.json").write_text(json.dumps(document))
    succeed(tokd("import", str(layout), "-o", str(tmp_path / "artifact")))
    refused = tokd("export", str(tmp_path / "artifact"), "--format", format, "-o", str(tmp_path / "out"))
    assert_refused(refused, "unsupported", 1, "export to")
    assert field in refused.stderr.decode() or SPECIALS[1] in refused.stderr.decode()
    assert not (tmp_path / "out").exists()


def test_export_replaces_nothing(tokd, tmp_path):
    (tmp_path / "out").write_text("mine")
    for format in ("huggingface", "tiktoken", "vocab_merges"):
        result = tokd("export", "artifacts/base", "--format", format, "-o", str(tmp_path / "out"))
        assert_refused(result, "output_exists", 1, "is there already")
    assert (tmp_path / "out").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_import_names_what_it_wrote(tokd, tmp_path):
    said = succeed(tokd("import", "hf", "-o", str(tmp_path / "mine"))).decode()
    tokenizer = Tokenizer.open(tmp_path / "mine")
    assert tokenizer.name == "mine"
    assert tokenizer.hash in said
    assert "mine" in said


@pytest.mark.parametrize(
    ("content", "code", "status", "word"),
    [
        (b"hello world\n", "unknown_format", 1, "--format"),
        (b"", "unknown_format", 1, "--format"),
        (b"\x80\x04\x95pickle", "unknown_format", 1, "--format"),
        (b"aGVsbG8= 0\n", "invalid_option", 1, "--pattern"),
        (b'{"!": 0, "\\"": 1}', "unknown_format", 1, "merges.txt"),
        (b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18", "invalid_file", 1, ""),
        (b"[PAD]\n[UNK]\n[CLS]\n", "invalid_file", 1, "[SEP]"),
        (b"1 '\\x00' 1\n2 '\\x01' 1\n", "unsupported", 1, "RWKV"),
        (b"{" * 200_000, "invalid_file", 1, ""),
        (b'{"a": ' * 200_000, "invalid_file", 1, ""),
        (b"{}", "", 1, ""),
        (b'{"model": {"type": "WordPiece", "vocab": {}}}', "invalid_file", 1, "unk_token"),
    ],
)
def test_import_never_guesses(tokd, tmp_path, content, code, status, word):
    (tmp_path / "source").write_bytes(content)
    result = tokd("import", str(tmp_path / "source"), "-o", str(tmp_path / "out"))
    assert_refused(result, code or result.stderr.decode().split(": ")[2], status, word)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [["import", "x"], ["export", "--format", "tiktoken"]])
def test_no_command_writes_to_an_empty_path(tokd, command):
    assert_refused(tokd(*command, "-o", ""), "usage", 2, "it is empty; name a place")


def test_import_never_waits_for_a_pipe(tokd, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert_refused(tokd("import", str(tmp_path / "pipe"), "-o", str(tmp_path / "out")), "invalid_file", 1, "pipe")


def test_import_names_a_place_that_cannot_be_written(tokd):
    assert_refused(tokd("import", "hf", "-o", "/proc/out"), "unwritable_output", 1, "/proc/out")


@pytest.mark.parametrize("extra", [[], ["--pattern", "gpt2"]])
def test_import_says_which_pattern_it_took(tokd, tmp_path, extra):
    succeed(tokd("export", "artifacts/base", "--format", "vocab_merges", "-o", str(tmp_path / "pair")))
    said = succeed(tokd("import", str(tmp_path / "pair"), "-o", str(tmp_path / "out"), *extra))
    assert b"pattern gpt2" in said


def test_import_names_the_pad_token(tokd, tmp_path):
    succeed(tokd("import", "hf", "-o", str(tmp_path / "other"), "--pad-token", "<|im_end|>"))
    other, plain = Tokenizer.open(tmp_path / "other"), Tokenizer.from_hf(tmp_path / "other")
    assert other.pad_id == plain.pad_id == other.special_tokens["<|im_end|>"]
    assert json.loads((tmp_path / "other" / "tokenizer_config.json").read_text())["pad_token"] == "<|im_end|>"
    result = tokd("import", "hf", "-o", str(tmp_path / "wrong"), "--pad-token", "<|pad>")
    assert_refused(result, "invalid_option", 1, "did you mean '<|pad|>'?")
    assert not (tmp_path / "wrong").exists()


def test_import_names_the_ends_and_takes_a_template(tokd, tmp_path):
    (tmp_path / "template").write_text("{{ bos_token }}{{ messages[0].content }}{{ eos_token }}")
    roles = ["--bos-token", "<|im_start|>", "--eos-token", "<|im_end|>", "--chat-template", str(tmp_path / "template")]
    succeed(tokd("import", "hf", "-o", str(tmp_path / "out"), "--name", "llama3.1", *roles))
    made = Tokenizer.open(tmp_path / "out")
    assert made.name == "llama3.1"
    assert made.render_chat([{"role": "user", "content": "x"}]).text == "<|im_start|>x<|im_end|>"
    result = tokd("import", "hf", "-o", str(tmp_path / "wrong"), "--eos-token", "<|im_ends|>")
    assert_refused(result, "invalid_option", 1, "--eos-token", "did you mean '<|im_end|>'?")


def test_import_says_what_it_passed_over(tokd, tmp_path):
    layout = write_plain(tmp_path / "both")
    for name in ("vocab.json", "merges.txt"):
        (layout / name).write_text("not read")
    said = succeed(tokd("import", str(layout), "-o", str(tmp_path / "out"))).decode()
    assert "passed over vocab.json" in said
    assert Tokenizer.open(tmp_path / "out").provenance["imported_from"]["passed_over"] == ["vocab.json"]


def test_import_of_a_file_reads_what_lies_beside_it_and_says_so(tokd, tmp_path):
    layout = write_plain(tmp_path / "model")
    (layout / "chat_template.jinja").write_text("{{ messages[0].content }}")
    said = succeed(tokd("import", str(layout / "tokenizer.json"), "-o", str(tmp_path / "out"))).decode()
    assert said.splitlines()[-1] == "read chat_template.jinja, tokenizer.json, tokenizer_config.json"
    made, whole = Tokenizer.open(tmp_path / "out"), Tokenizer.load(layout)
    assert (made.hash, made.template_hash) == (whole.hash, whole.template_hash)
    assert (made.settings.eos, made.settings.padding_side) == (whole.settings.eos, "left")
    (layout / "tokenizer.json").rename(layout / "mine.json")
    said = succeed(tokd("import", str(layout / "mine.json"), "-o", str(tmp_path / "alone"))).decode()
    assert said.splitlines()[-1] == "read mine.json; passed over tokenizer_config.json, chat_template.jinja"


def test_import_of_a_pair_reads_what_lies_beside_it(tokd, tmp_path):
    succeed(tokd("export", "artifacts/base", "--format", "vocab_merges", "-o", str(tmp_path / "pair")))
    config = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|im_end|>", "unk_token": None, "bos_token": None}
    (tmp_path / "pair" / "tokenizer_config.json").write_text(json.dumps(config))
    pair = [str(tmp_path / "pair" / name) for name in ("vocab.json", "merges.txt")]
    answer = json.loads(succeed(tokd("import", *pair, "-o", str(tmp_path / "out"), "--json")))
    assert "tokenizer_config.json" in answer["files"]
    assert Tokenizer.open(tmp_path / "out").settings.eos == "<|im_end|>"


def test_import_gives_a_rank_file_a_pad_token(tokd, tmp_path):
    succeed(tokd("export", "artifacts/base", "--format", "tiktoken", "-o", str(tmp_path / "ranks")))
    command = ["import", str(tmp_path / "ranks"), "--pattern", "gpt2", "--special-token", "<|fill|>=900"]
    succeed(tokd(*command, "-o", str(tmp_path / "out"), "--pad-token", "<|fill|>"))
    assert Tokenizer.open(tmp_path / "out").pad_id == 900
