"""The pretokenizers behind ``tokenizer.ggml.pre``: what the model's own library does, by the name in the file.

A GGUF file names its pretokenizer and does not hold it. Source of the names: ``llama-vocab.cpp`` of llama.cpp, which
rewrites the expressions for its own engine; here they are as the models' ``tokenizer.json`` has them, with the
normalizer that stands there and that no GGUF file mentions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tokenizer_core.stages import Normalizer, Pattern, Pretokenizer

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"

KIMI = "|".join(
    (
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}&&[^\p{{Han}}]]*[{_LOWER}&&[^\p{{Han}}]]+{_CONTRACTIONS}?",
        rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}&&[^\p{{Han}}]]+[{_LOWER}&&[^\p{{Han}}]]*{_CONTRACTIONS}?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*" + _TAIL,
    )
)
"""The pattern of Kimi K2, from its ``tokenization_kimi.py``."""

_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+|[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + _TAIL
)
_QWEN35 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + _TAIL
_SEED_CODER = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+" + _TAIL
_BAILING = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
_DEEPSEEK_V3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    + _TAIL
)
_CASED = (
    "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376-377 37B-37D 37F 386 388-38A "
    "38C 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF "
    "1D00-1D2B 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D "
    "1F5F-1F7D 1F80-1FB4 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 "
    "1FF6-1FFC 2102 2107 210A-2113 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F "
    "2145-2149 214E 2183-2184 2C00-2C7B 2C7E-2CE4 2CEB-2CEE 2CF2-2CF3 A640-A66D A680-A69B A722-A76F "
    "A771-A787 A78B-A78E AB70-ABBF FB00-FB06 FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 "
    "104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF 1E900-1E943"
)
"""The letters that DeepSeek LLM keeps together: code points, since some of these letters have a composed twin."""
_LETTERS = "".join("-".join(chr(int(end, 16)) for end in ends.split("-")) for ends in _CASED.split())
_CJK = "[一-龥ࠀ-一가-퟿]+"


@dataclass(frozen=True, slots=True)
class NamedPretokenizer:
    """The meaning of a name.

    Attributes:
        stages: the cuts.
        nfc: whether the model's library composes the text first.
        ignore_merges: a piece that is a token is that token.
        add_bos: whether a text begins with the token ``bos`` where the file does not say.
    """

    stages: tuple[Pretokenizer, ...]
    nfc: bool = False
    ignore_merges: bool = False
    add_bos: bool = False

    @property
    def normalizer(self) -> tuple[Normalizer, ...]:
        """The stages of the normalizer."""
        return (Normalizer("nfc"),) if self.nfc else ()


def _named(name: str) -> tuple[Pretokenizer, ...]:
    return (Pretokenizer("split", pattern=Pattern("name", name)),)


def _cuts(*expressions: str) -> tuple[Pretokenizer, ...]:
    return tuple(Pretokenizer("split", pattern=Pattern("regex", expression)) for expression in expressions)


_GPT2, _CL100K, _QWEN2, _O200K = map(_named, ("gpt2", "cl100k_base", "qwen2", "o200k_base"))
_EACH_DIGIT: tuple[Pretokenizer, ...] = (Pretokenizer("digits", individual=True), *_GPT2)

_KNOWN: dict[NamedPretokenizer, tuple[str, ...]] = {
    NamedPretokenizer(_GPT2): (
        *("gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code"),
        *("roberta-bpe", "jais", "trillion", "exaone4", "gigachat", "a.x-4.0", "mellum", "granite-docling"),
    ),
    NamedPretokenizer(_GPT2, nfc=True): ("mpt", "olmo", "modern-bert"),
    NamedPretokenizer(_EACH_DIGIT): ("starcoder", "refact", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"),
    NamedPretokenizer(_EACH_DIGIT, nfc=True): ("command-r",),
    NamedPretokenizer(
        (*_cuts(r"[\p{P}$+<=>^~|`]+"), *_GPT2, *_cuts("[0-9][0-9][0-9]")),
    ): ("falcon",),
    NamedPretokenizer(_CL100K, ignore_merges=True, add_bos=True): (
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano")
    ),
    NamedPretokenizer(_CL100K, ignore_merges=True): ("glm4", "glm5"),
    NamedPretokenizer(_CL100K): ("dbrx", "smaug-bpe", "chatglm-bpe"),
    NamedPretokenizer(_QWEN2, nfc=True): ("qwen2", "deepseek-r1-qwen"),
    NamedPretokenizer(_QWEN2): ("stablelm2", "megrez", "hunyuan", "grok-2", "kormo", "f2llmv2", "solar-open"),
    NamedPretokenizer(_cuts(_QWEN35), nfc=True): ("qwen35",),
    NamedPretokenizer(_O200K): ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"),
    NamedPretokenizer(_cuts(_TEKKEN), ignore_merges=True, add_bos=True): ("tekken",),
    NamedPretokenizer(_cuts(KIMI), ignore_merges=True): ("kimi-k2",),
    NamedPretokenizer(_cuts(_SEED_CODER)): ("seed-coder",),
    NamedPretokenizer(_cuts(_BAILING)): ("bailingmoe", "bailingmoe2", "llada-moe"),
    NamedPretokenizer(_cuts(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK_V3)): (
        ("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4")
    ),
    NamedPretokenizer(
        (*_cuts(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _CJK), Pretokenizer("digits", individual=True)),
    ): ("deepseek-coder",),
    NamedPretokenizer(
        (
            *_cuts(r"[\r\n]", rf"\s?[{_LETTERS}]+", r"\s?[!-/:-~！-／：-～‘-‟　-。]+", r"\s+$", _CJK),
            Pretokenizer("digits", individual=True),
        ),
    ): ("deepseek-llm",),
}

PRETOKENIZERS: Mapping[str, NamedPretokenizer] = MappingProxyType(
    {name: pretokenizer for pretokenizer, names in _KNOWN.items() for name in names}
)
"""Every name of ``tokenizer.ggml.pre`` whose pattern is known."""
