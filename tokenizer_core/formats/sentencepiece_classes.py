"""The tokenizers of transformers that ship a SentencePiece model: whose ids are the model's, and whose are not.

Each is named by its class without ``Tokenizer`` and ``Fast``. A class that stands nowhere here is refused: it may shift
ids, or rewrite the text first, and nothing in the model tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokenizer_core.errors import Unsupported
from tokenizer_core.formats.hf_roles import ALL_ROLES, BERT, CONFIG, ROBERTA, ClassTokens, load

PLAIN: dict[str, tuple[str, ...]] = {
    "Baichuan": ("bos",),
    "BertGeneration": (),
    "CodeLlama": ("bos",),
    "Gemma": ("bos",),
    "InternLM": ("bos",),
    "InternLM2": ("bos",),
    "Llama": ("bos",),
    "MT5": ("eos",),
    "PreTrained": (),
    "Reformer": (),
    "SpeechT5": ("eos",),
    "T5": ("eos",),
}
"""Classes whose ids are the model's, with what they put round a text where nothing else is said.

``PreTrainedTokenizerFast`` is what an artifact names where its source named no class.
"""

EXTRA_IDS = ("T5", "MT5")
"""Of these, the classes that add ``<extra_id_0>`` and its like behind the pieces, the last one first."""

MOST_EXTRA_IDS = 10_000

_OF_MODELS = {
    "Albert": ("albert", "nystromformer", "yoso"),
    "BertGeneration": ("bert-generation",),
    "BigBird": ("big_bird",),
    "Camembert": ("camembert",),
    "CodeLlama": ("code_llama",),
    "DebertaV2": ("deberta-v2",),
    "FNet": ("fnet",),
    "Gemma": (
        *("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "paligemma", "recurrent_gemma"),
        *("shieldgemma2", "siglip2", "t5gemma"),
    ),
    "Llama": (
        *("chameleon", "deepseek_v2", "deepseek_v3", "diffllama", "idefics", "jamba", "jetmoe", "llama", "mistral"),
        *("mixtral", "persimmon", "phi3", "zamba", "zamba2"),
    ),
    "MBart": ("mbart",),
    "MT5": ("mt5",),
    "Nllb": ("nllb-moe",),
    "Pegasus": ("pegasus", "pegasus_x"),
    "Reformer": ("reformer",),
    "RemBert": ("rembert",),
    "SpeechT5": ("speecht5",),
    "T5": ("longt5", "switch_transformers", "t5", "umt5"),
    "XGLM": ("xglm",),
    "XLMRoberta": ("kosmos-2", "xlm-roberta", "xlm-roberta-xl", "xmod"),
    "XLNet": ("xlnet",),
}
BY_MODEL = {model: name for name, models in _OF_MODELS.items() for model in models}
"""The class by ``model_type``, as ``AutoTokenizer`` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(ClassTokens):
    """The conversion of a class's model to ``tokenizer.json`` by transformers: ``convert_slow_tokenizer.py`` of 4.57.

    Attributes:
        dropped: how many of the first pieces give way to ``lead``.
        lead, tail: entries before and behind the pieces, with the score 0; special tokens.
        spare: entries behind ``lead`` with the score -100; special tokens.
        unk: the id of the unknown token; ``None`` is the model's.
        single, pair: frames, as literals with their type ids; ``{lang}`` is the language of the source.
        lang: the language where ``src_lang`` names none.
        style: which normalizer: the one of most classes, or of the class after which it is named.
        lowercase, keep_accents: of the normalizer, where the file says nothing.
        commas: pieces that end in a digit and a comma lose 100 of their score.
        words: the text is cut at white space first.
        listed: ids behind the pieces are known only from ``added_tokens_decoder``.
    """

    single: str
    pair: str
    dropped: int = 0
    lead: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    unk: int | None = None
    spaced_mask: bool = True
    lang: str = ""
    style: str = "plain"
    lowercase: bool = False
    keep_accents: bool = True
    commas: bool = False
    words: bool = False
    listed: bool = False


_FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
_BERT = {**BERT, "unk": "<unk>", "pad": "<pad>"}
_LANGUAGES = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_LANGUAGES_50 = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN "
    "te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)


def _without(roles: Mapping[str, str], *names: str) -> dict[str, str]:
    return {role: literal for role, literal in roles.items() if role not in names}


_LIKE_BERT = Conversion(roles=_BERT, single="[CLS] A [SEP]", pair="[CLS] A [SEP] B:1 [SEP]:1")
_LIKE_ROBERTA = Conversion(
    roles=ROBERTA, dropped=3, lead=_FAIRSEQ, unk=3, single="<s> A </s>", pair="<s> A </s> </s> B </s>"
)
_TRANSLATING = replace(
    _LIKE_ROBERTA, normalized=frozenset({"mask"}), single="{lang} A </s>", pair="{lang} A B </s>", lang="en_XX"
)

CONVERSIONS: dict[str, Conversion] = {
    "Albert": replace(_LIKE_BERT, style="albert", lowercase=True, keep_accents=False, commas=True),
    "BigBird": replace(_LIKE_BERT, roles=_BERT | {"bos": "<s>", "eos": "</s>"}, normalized=frozenset(ALL_ROLES)),
    "Camembert": replace(
        _LIKE_ROBERTA,
        dropped=1,
        lead=("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"),
        spare=("<unk>NOTUSED",),
        tail=("<mask>",),
    ),
    "DebertaV2": replace(_LIKE_BERT, roles=BERT, style="deberta", normalized=frozenset({"unk"}), spaced_mask=False),
    "FNet": replace(_LIKE_BERT, roles=_without(_BERT, "bos", "eos"), style="albert", commas=True),
    "MBart": replace(
        _LIKE_ROBERTA,
        tail=(*_LANGUAGES.split(), "<mask>"),
        single="A </s> {lang}",
        pair="A B </s> {lang}",
        lang="en_XX",
    ),
    "MBart50": replace(
        _TRANSLATING,
        roles=_without(ROBERTA, "bos"),
        tail=(*_LANGUAGES.split(), *_LANGUAGES_50.split(), "<mask>"),
    ),
    "Nllb": replace(_TRANSLATING, lang="eng_Latn", listed=True),
    "Pegasus": Conversion(
        roles={"eos": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask_2>"},
        dropped=2,
        lead=("<pad>", "</s>", "<mask_1>", "<mask_2>"),
        spare=tuple(f"<unk_{number}>" for number in range(2, 103)),
        unk=105,
        spaced_mask=False,
        single="A </s>",
        pair="A B </s>",
        words=True,
    ),
    "RemBert": replace(_LIKE_BERT, roles=BERT, style="rembert", normalized=frozenset({"mask"})),
    "XGLM": replace(
        _LIKE_ROBERTA,
        roles=_without(ROBERTA, "mask"),
        tail=tuple(f"<madeupword{number}>" for number in range(7)),
        single="</s> A",
        pair="</s> A </s> </s> B",
    ),
    "XLMRoberta": replace(_LIKE_ROBERTA, tail=("<mask>",)),
    "XLNet": Conversion(
        roles={**ROBERTA, "sep": "<sep>", "cls": "<cls>"},
        single="A <sep> <cls>:2",
        pair="A <sep> B:1 <sep>:1 <cls>:2",
        style="albert",
        keep_accents=False,
        commas=True,
    ),
}
"""Classes whose ids are those of another pipeline than SentencePiece's, which transformers makes of the model."""


_ON, _OFF = (None, True), (None, False)
_Values = dict[str, tuple[object, ...]]
_PREFIX: _Values = {"add_prefix_space": _ON}
_LEGACY: _Values = {"legacy": _ON}
_SPACES: _Values = {"remove_space": _ON}
_EVERYWHERE: _Values = {"sp_model_kwargs": (None, {}), "split_special_tokens": _OFF}

FIXED: dict[str, _Values] = {
    **dict.fromkeys(("BigBird", "Camembert", "CodeLlama", "DebertaV2", "XLMRoberta"), _PREFIX),
    **dict.fromkeys(("Baichuan", "InternLM", "InternLM2", "MT5", "T5"), _PREFIX | _LEGACY),
    **dict.fromkeys(("Albert", "RemBert"), _PREFIX | _SPACES),
    "BertGeneration": _LEGACY,
    "FNet": _PREFIX | _LEGACY | _SPACES,
    "Nllb": {"legacy_behaviour": _OFF},
    "Pegasus": {"offset": (103,), "mask_token_sent": ("<mask_1>",), "mask_token": ("<mask_2>",)},
    "SpeechT5": _LEGACY | {"normalize": _OFF},
    "XLNet": _SPACES,
}
"""Settings that change ids in some version of transformers and are not followed, with the values that change none.

Measured with 4.57 and 5.24. What is followed stands in no row (``do_lower_case``, ``keep_accents``, ``split_by_punct``,
``src_lang``, ``extra_ids``), nor does what neither version of a class reads.
"""

FOLLOWS_PREFIX = (None, "Llama", "PreTrained")
"""Classes of which ``legacy`` and ``add_prefix_space`` say where the space before a text is put."""


def check_settings(beside: Mapping[str, bytes], kind: str | None) -> None:
    """Refuse settings of a class that are not followed.

    Raises:
        Unsupported: at the key.
    """
    said = load(beside, CONFIG).rest()
    for key, allowed in {**_EVERYWHERE, **FIXED.get(kind or "", {})}.items():
        if key in said and said[key] not in allowed:
            raise Unsupported(
                f"{key} is {json.dumps(said[key])[:80]}, which may change ids and is supported as "
                f"{json.dumps(allowed[-1])} alone; use its tokenizer.json, which transformers' save_pretrained writes",
                field=f"{CONFIG}.{key}",
            )


def class_of(beside: Mapping[str, bytes]) -> str | None:
    """Return the class that the files beside a model name, without its endings.

    Raises:
        Unsupported: it is not known whose ids it gives.
    """
    named = load(beside, CONFIG).peek("tokenizer_class")
    if not isinstance(named, str):
        return None
    kind = named.removesuffix("Fast").removesuffix("Tokenizer")
    if kind not in PLAIN and kind not in CONVERSIONS:
        raise Unsupported(
            f"{named[:80]} may give the pieces of the model other ids than the model has, or rewrite the text first; "
            "use its tokenizer.json, which transformers' save_pretrained writes",
            field=f"{CONFIG}.tokenizer_class",
        )
    return kind
