"""The audit: a sound tokenizer passes all eleven points, and each point fails for a tokenizer that is broken there."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from tests.core.checking.conftest import assert_only_failure, configured, outcome
from tests.support.data import needs_data, shared
from tokenizer_core._kernel import Vocabulary
from tokenizer_core.checking import Status, check, check_artifact
from tokenizer_core.checking.report import MAX_EXAMPLES
from tokenizer_core.checking.template import template
from tokenizer_core.checking.throughput import throughput
from tokenizer_core.config import AddedToken
from tokenizer_core.errors import InvalidOption
from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer
from tokenizer_core.tokenizer import Tokenizer


def accompanied(tokenizer: Tokenizer, **changes) -> Tokenizer:
    """The same pipeline with other settings."""
    settings = dataclasses.replace(tokenizer.settings, **changes)
    return Tokenizer(dataclasses.replace(tokenizer.parts, settings=settings))


def test_a_sound_artifact_passes_every_point(artifact, sound):
    report = check_artifact(artifact, embedding_rows=sound.vocab_size)
    assert [(point.number, point.status.value) for point in report.points] == [(at, "passed") for at in range(1, 12)]
    assert report.ok
    assert report.tokenizer == sound.hash
    json.dumps(report.to_dict(), allow_nan=False)


def test_what_was_not_given_is_not_applicable(sound):
    report = check(accompanied(sound, pad=None, chat_template=None))
    unseen = {point.name for point in report.points if point.status is Status.NOT_APPLICABLE}
    assert unseen == {"template", "padding and masks", "file hashes", "embedding rows"}
    assert report.ok


def test_a_tokenizer_without_specials_has_no_policy(sound):
    report = check(accompanied(configured(sound, added_tokens=()), pad=None, chat_template=None))
    assert outcome(report, "atomic specials").status is Status.NOT_APPLICABLE
    assert outcome(report, "reserved literals").status is Status.NOT_APPLICABLE
    assert report.ok


@pytest.mark.parametrize(
    "stage", [Normalizer("strip", left=True, right=True), Normalizer("strip_accents"), Normalizer("lowercase")]
)
def test_point_1_is_not_promised_by_a_normalizer_that_loses_text(sound, stage):
    report = check(configured(sound, normalizer=(stage,)))
    assert report.ok
    assert outcome(report, "round trip").status is Status.NOT_APPLICABLE


def test_point_1_text_that_does_not_come_back_fails(sound):
    class Lossy(Tokenizer):
        def decode(self, ids, *, skip_special_tokens=False):
            return super().decode(ids, skip_special_tokens=skip_special_tokens).lower()

    point = outcome(check(Lossy(sound.parts)), "round trip")
    assert point.status is Status.FAILED
    changed = point.evidence["changed"]
    assert 0 < len(changed) <= MAX_EXAMPLES
    assert all(example["expected"] != example["found"] for example in changed)


def test_point_1_a_canonical_form_passes_and_is_named(sound):
    report = check(configured(sound, normalizer=(Normalizer("nfc"),)))
    point = outcome(report, "round trip")
    assert point.status is Status.PASSED
    assert "combining marks" in point.evidence["equivalent"]


def test_point_2_a_special_that_merges_could_make_is_no_danger(sound):
    token = next(id for id in range(sound.vocab_size) if sound.token_bytes(id) == b"he")
    special = AddedToken(id=token, content="he", special=True)
    kept = configured(sound, added_tokens=(*sound.added_tokens, special))
    assert outcome(check(kept), "atomic specials").status is Status.PASSED
    assert token not in kept.encode("he", special_tokens="text")


def test_point_2_a_special_that_is_split_fails(sound):
    class Splitting(Tokenizer):
        def encode(self, text, *, special_tokens="reject", add_special_tokens=False):
            policy = "ordinary" if special_tokens == "parse" else special_tokens
            return super().encode(text, special_tokens=policy, add_special_tokens=add_special_tokens)

    point = outcome(check(Splitting(sound.parts)), "atomic specials")
    assert point.status is Status.FAILED
    assert point.evidence["broken"][0]["literal"] in sound.special_tokens
    assert "under parse" in point.summary


def test_point_3_merges_that_never_apply_fail(sound):
    single = Pretokenizer("split", pattern=Pattern("regex", r"[\s\S]"))
    assert_only_failure(check(configured(sound, pretokenizer=(single,))), "fertility")


def with_merges(tokenizer: Tokenizer, kept: float, *, whole: bool) -> Tokenizer:
    """The same entries with the first of the merges alone; ``whole`` takes pieces that are entries as they are."""
    vocabulary = tokenizer.parts.vocabulary
    tokens = [(id, text) for id in range(vocabulary.id_limit) if (text := vocabulary.token_bytes(id)) is not None]
    merges = vocabulary.merge_ids()
    lossy = Vocabulary.from_tokens(tokens, merges[: int(kept * len(merges))])
    return configured(Tokenizer(dataclasses.replace(tokenizer.parts, vocabulary=lossy)), ignore_merges=whole)


@pytest.mark.parametrize(("kept", "whole"), [(0.0, False), (0.8, False), (0.0, True), (0.4, True)])
def test_point_3_merges_that_were_lost_fail(sound, kept, whole):
    report = check(with_merges(sound, kept, whole=whole))
    assert_only_failure(report, "fertility")
    assert "merges were lost" in outcome(report, "fertility").summary


def test_point_3_words_that_are_taken_whole_need_no_merge(sound):
    assert outcome(check(with_merges(sound, 0.6, whole=True)), "fertility").status is Status.PASSED


def test_point_3_more_tokens_than_bytes_fail(sound):
    class Doubled(Tokenizer):
        def count(self, text, **options):
            return 5 * super().count(text, **options)

    assert_only_failure(check(Doubled(sound.parts)), "fertility")


@pytest.mark.parametrize(
    ("template", "literal"),
    [
        ("<|start_header_id|>{{ messages[0].content }}<|im_end|>", "<|start_header_id|>"),
        ("{{ '<｜User｜>' + messages[0].content }}", "<｜User｜>"),
        ("<s>{{ messages[0].content }}", "<s>"),
    ],
)
def test_point_4_a_literal_that_is_no_added_token_fails(sound, template, literal):
    report = check(accompanied(sound, chat_template=template))
    assert_only_failure(report, "template")
    assert outcome(report, "template").evidence["missing"] == [literal]


def test_point_4_a_named_token_that_is_no_added_token_fails(sound):
    report = check(accompanied(sound, bos="<bos>", chat_template="{{ bos_token }}<|im_start|>"))
    assert_only_failure(report, "template")
    assert outcome(report, "template").evidence["missing"] == ["bos_token"]


@pytest.mark.parametrize("name", ["bos_token", "unk_token", "sep_token", "image_token", "additional_special_tokens"])
def test_point_4_a_role_that_nobody_has_fails(sound, name):
    source = "{{ NAME }}<|im_start|>{{ messages[0].content }}".replace("NAME", name)
    bare = dict.fromkeys(("bos", "eos", "pad", "unk"))
    report = check(accompanied(sound, **bare, chat_template="<|im_start|>", named_templates=(("rag", source),)))
    assert_only_failure(report, "template")
    point = outcome(report, "template")
    assert point.summary == f"template rag reads what no token has the role of: {name}"
    assert point.evidence["missing"] == [name]
    assert point.evidence["templates"] == {"rag": [name]}
    asked = source.replace("{{ " + name, "{{ '' if " + name + " is not defined else " + name)
    assert outcome(check(accompanied(sound, **bare, chat_template=asked)), "template").status is Status.PASSED


@pytest.mark.parametrize(
    "template",
    [
        "{# <|ghost|> #}<|im_start|>",
        "{% if x != '<|NONE|>' %}<|im_start|>{% endif %}",
        "{% if '<|think|>' in x %}{{ x.split('<|think|>')[1] }}{{ x.removeprefix('<s>') }}{% endif %}",
        "{{ x | replace('<|think|>', '') | trim('<|a|>') }}{{ x.replace('<|think|>', '<|im_end|>') }}",
        "{% if x is eq '<|think|>' or x.startswith('<bos>') %}{{ raise_exception('no <|image|>') }}{% endif %}",
        "{% for y in x | rejectattr('role', 'equalto', '<|zzz|>') %}{{ y.role == eos_token }}{% endfor %}",
        "{% macro of(x) %}{{ '<|NONE|>' }}{% endmacro %}{% if of(x) != '<|NONE|>' %}{{ of(x) }}{% endif %}",
        "{% set y = '<|NONE|>' %}{% if x %}{% set y = x %}{% endif %}{% if y != '<|NONE|>' %}{{ y }}{% endif %}",
    ],
)
def test_point_4_what_is_compared_or_looked_for_is_not_written(sound, template):
    point = outcome(check(accompanied(sound, eos="</s>", chat_template=template)), "template")
    assert point.status is Status.PASSED, point


@pytest.mark.parametrize(
    "template",
    [
        "{% if x == '<|zzz|>' %}{% endif %}<|zzz|>{{ x }}",
        "{% if '<|zzz|>' in x %}{{ '<|zzz|>' + x }}{% endif %}",
        "{{ x.split('<|a|>') | join('<|zzz|>') }}",
        "{{ x.replace('<|a|>', '<|zzz|>') }}",
        "{{ x | replace('<|a|>', '<|zzz|>') }}",
        "{% macro of(x) %}<|zzz|>{{ x }}{% endmacro %}{{ of(x) }}",
        "{% if x == '<|zzz|>' %}{% endif %}{% set y = '<|zzz|>' ~ x %}{{ y }}",
    ],
)
def test_point_4_what_is_compared_in_one_place_is_written_in_another(sound, template):
    assert outcome(check(accompanied(sound, chat_template=template)), "template").evidence["missing"] == ["<|zzz|>"]


def test_point_4_every_template_counts_and_is_named(sound):
    bad = (("rag", "<|im_start|>"), ("tool_use", "<|eot_id|>{{ messages[0].content }}"))
    for default in (None, sound.settings.chat_template):
        report = check(accompanied(sound, chat_template=default, named_templates=bad))
        assert_only_failure(report, "template")
        point = outcome(report, "template")
        assert point.summary == "template tool_use writes what is not an added token: <|eot_id|>"
        assert point.evidence["templates"] == {"tool_use": ["<|eot_id|>"]}


def test_point_4_a_template_that_does_not_compile_fails(sound):
    assert_only_failure(check(accompanied(sound, chat_template="{% if %}")), "template")


def test_point_5_a_literal_that_is_taken_silently_fails(sound):
    class Silent(Tokenizer):
        def encode(self, text, *, special_tokens="reject", add_special_tokens=False):
            policy = "text" if special_tokens == "reject" else special_tokens
            return super().encode(text, special_tokens=policy, add_special_tokens=add_special_tokens)

    report = check(Silent(sound.parts))
    assert_only_failure(report, "reserved literals")
    assert len(outcome(report, "reserved literals").evidence["broken"]) == len(sound.special_tokens)


def test_point_6_a_pad_token_that_decodes_to_text_fails(sound):
    shown = tuple(
        dataclasses.replace(token, special=token.content != sound.settings.pad) for token in sound.added_tokens
    )
    assert_only_failure(check(configured(sound, added_tokens=shown)), "padding and masks")


def test_point_8_too_few_rows_fail_and_more_pass(sound):
    report = check(sound, embedding_rows=sound.vocab_size - 1)
    assert_only_failure(report, "embedding rows")
    assert outcome(report, "embedding rows").evidence["ids_without_row"] == 1
    point = outcome(check(sound, embedding_rows=sound.vocab_size + 7), "embedding rows")
    assert (point.status, point.evidence["unused"]) == (Status.PASSED, 7)


@pytest.mark.parametrize("rows", [0, -1])
def test_point_8_a_number_of_rows_that_cannot_be_is_refused(sound, rows):
    with pytest.raises(InvalidOption):
        check(sound, embedding_rows=rows)


@pytest.mark.parametrize("unit", ["byte", "char", "utf16"])
def test_point_9_spans_that_are_off_by_one_fail(sound, unit):
    class Shifted(Tokenizer):
        def offsets(self, text, unit_="char", *, unit=None, **options):
            found = super().offsets(text, unit or unit_, **options)
            wrong = (unit or unit_) == broken_unit and len(found.ids) > 1
            return dataclasses.replace(found, spans=found.spans + np.uint32(1)) if wrong else found

    broken_unit = unit
    report = check(Shifted(sound.parts))
    assert_only_failure(report, "offsets")
    assert outcome(report, "offsets").evidence["broken"][0]["unit"] == unit


def test_point_10_an_absurd_speed_fails(sound):
    ticks = itertools.count(step=10)
    assert throughput(sound, clock=lambda: float(next(ticks))).status is Status.FAILED


def test_point_11_ids_that_depend_on_the_call_fail(sound):
    class Moody(Tokenizer):
        calls = itertools.count()

        def encode(self, text, *, special_tokens="reject", add_special_tokens=False):
            ids = super().encode(text, special_tokens=special_tokens, add_special_tokens=add_special_tokens)
            return ids[:-1] if text and text[0] == "7" and next(self.calls) % 2 else ids

    assert outcome(check(Moody(sound.parts)), "determinism").status is Status.FAILED


def test_point_11_ids_that_depend_on_threads_fail(sound):
    class Racy(Tokenizer):
        def encode_batch(self, texts, *, threads=0, **options):
            batch = super().encode_batch(texts, threads=threads, **options)
            batch.ids[-1] ^= threads == 4
            return batch

    report = check(Racy(sound.parts))
    assert_only_failure(report, "determinism")
    assert outcome(report, "determinism").evidence["way"] == "a batch on 4 threads"


def test_an_error_inside_a_point_is_its_failure(sound):
    report = check(
        configured(
            sound,
            pretokenizer=(Pretokenizer("split", pattern=Pattern("regex", r"\p{L}+"), behavior="removed", invert=True),),
        )
    )
    point = outcome(report, "round trip")
    assert point.status is Status.FAILED
    assert point.evidence["code"] == "uncovered_text"


@needs_data
@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda: Tokenizer.from_hf(shared("vocabs/gpt2_tokenizer.json")), id="gpt2"),
        pytest.param(lambda: Tokenizer.from_hf(shared("vocabs/qwen2_tokenizer.json")), id="qwen2"),
        pytest.param(lambda: Tokenizer.from_hf(shared("vocabs/llama3_tokenizer.json")), id="llama3"),
        pytest.param(
            lambda: Tokenizer.from_tiktoken(
                shared("vocabs/o200k_base.tiktoken"),
                pattern="o200k_base",
                special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
            ),
            id="o200k_base",
        ),
    ],
)
def test_real_tokenizers_pass(read):
    report = check(read())
    assert report.ok, report.to_dict()


@needs_data
def test_point_4_real_templates_belong_to_their_own_tokenizer():
    qwen2 = Tokenizer.from_hf(shared("vocabs/qwen2_tokenizer.json"))
    own = shared("templates/Qwen-Qwen2.5-7B-Instruct.jinja").read_text()
    other = shared("templates/meta-llama-Llama-3.1-8B-Instruct.jinja").read_text()
    assert template(accompanied(qwen2, chat_template=own)).status is Status.PASSED
    finding = template(accompanied(qwen2, chat_template=other))
    assert finding.status is Status.FAILED
    assert "<|eot_id|>" in finding.evidence["missing"]
