"""Facts that all files of a BERT but a ``tokenizer.json`` leave unsaid: the stages, and the tokens around a text.

The reader of ``vocab.txt`` builds what transformers' ``BertTokenizer`` builds.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizer_core._kernel import Vocabulary
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, TokenizerParts
from tokenizer_core.errors import InvalidArtifact, Unsupported
from tokenizer_core.formats import files
from tokenizer_core.formats.added import check_numbers, reserve
from tokenizer_core.formats.hf_configs import is_bert, with_class
from tokenizer_core.formats.hf_roles import CONFIG, TOKENS_MAP, load, take_added, take_literal, with_roles
from tokenizer_core.formats.hf_settings import read_settings
from tokenizer_core.formats.side_files import read_beside
from tokenizer_core.stages import Decoder, Model, Normalizer, Pretokenizer

VOCAB = "vocab.txt"
_BY_MODEL = {
    **dict.fromkeys(("align", "bert", "blip", "bros", "chinese_clip", "ernie", "git", "grounding-dino"), "Bert"),
    **dict.fromkeys(("megatron-bert", "mm-grounding-dino", "nomic_bert", "vilt", "visual_bert"), "Bert"),
    "convbert": "ConvBert",
    "distilbert": "DistilBert",
    "dpr": "DPRQuestionEncoder",
    "electra": "Electra",
    "layoutlm": "LayoutLM",
    "lxmert": "Lxmert",
    "mobilebert": "MobileBert",
    "squeezebert": "SqueezeBert",
}
"""The class by ``model_type``, as ``AutoTokenizer`` has it."""
_LITERALS = {role: f"[{role.upper()}]" for role in ("unk", "sep", "pad", "cls", "mask")}
"""The literal of each role where no file names one."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The ids of the tokens that have a role."""

    unk: int | None
    cls: int | None
    sep: int | None


def read(path: Path) -> TokenizerParts:
    """Read a ``vocab.txt`` and the files beside it.

    Raises:
        ArtifactNotFound, InvalidArtifact
        Unsupported: a class of tokenizer that has other stages.
    """
    found = {VOCAB: files.read(path)} | read_beside(path.parent)
    parts = parse(found[VOCAB], with_class(found, _BY_MODEL))
    name, provenance = files.name_of_directory(path.parent), files.origin("vocab_txt", found)
    return dataclasses.replace(parts, name=name, provenance=provenance)


def parse(vocab: bytes, beside: Mapping[str, bytes]) -> TokenizerParts:
    """Read the bytes of a ``vocab.txt``, which has an entry a line, and of the files beside it, by name."""
    ids = _ids(vocab)
    config, tokens_map = load(beside, CONFIG), load(beside, TOKENS_MAP)
    kind = config.optional("tokenizer_class", str)
    if kind is not None and not is_bert(load(beside, CONFIG)):
        raise Unsupported(
            f"without a tokenizer.json only BertTokenizer is supported, not {kind[:80]!r}; save one with transformers",
            field=config.at("tokenizer_class"),
        )
    for key, wanted in (("do_basic_tokenize", True), ("never_split", None)):
        if config.has(key) and config.any(key) != wanted:
            raise Unsupported(f"{config.at(key)} must be {json.dumps(wanted)}", field=config.at(key))
    lowercase = config.take("do_lower_case", bool, True)
    strip_accents = config.optional("strip_accents", bool)
    normalizer = Normalizer(
        "bert",
        clean_text=True,
        handle_chinese_chars=config.take("tokenize_chinese_chars", bool, True),
        strip_accents=lowercase if strip_accents is None else strip_accents,
        lowercase=lowercase,
    )
    added = {token.content: token for token, _ in take_added(beside, normalized=True)}
    named: dict[str, str] = {}
    for role, usual in _LITERALS.items():
        literals = [take_literal(fields, f"{role}_token") for fields in (config, tokens_map)]
        literal = next((literal for literal in literals if literal is not None), usual)
        if literal in ids or literal in added:
            named[role] = literal
            id = ids.get(literal, 0)
            added.setdefault(literal, AddedToken(id=id, content=literal, special=True))
        elif literal != usual or role in ("unk", "cls", "sep"):
            raise InvalidArtifact(f"{literal[:80]!r}, the {role} token, is not in {VOCAB}", field=f"{role}_token")
    roles = {role: added[literal].id for role, literal in named.items()}
    vocabulary = Vocabulary.from_texts([(id, entry) for entry, id in ids.items()], [], [])
    check_numbers(vocabulary, vocabulary.id_limit, sorted(added.values(), key=lambda token: token.id))
    parts = build(
        vocabulary, tuple(added.values()), Roles(unk=roles["unk"], cls=roles["cls"], sep=roles["sep"]), normalizer
    )
    settings = read_settings(with_roles(beside, named), parts.config, parts.settings)
    return dataclasses.replace(parts, settings=settings)


def build(vocabulary: Vocabulary, added: Sequence[AddedToken], roles: Roles, normalizer: Normalizer) -> TokenizerParts:
    """Put the parts of a BERT together."""
    frame = None
    if roles.cls is not None and roles.sep is not None:
        frame = ((roles.cls, 0), ("A", 0), (roles.sep, 0), ("B", 1), (roles.sep, 1))
    config = PipelineConfig(
        normalizer=(normalizer,),
        pretokenizer=(Pretokenizer("bert"),),
        model=Model("word_piece", unk=roles.unk),
        decoder=(Decoder("word_piece", prefix="##", cleanup=True),),
        added_tokens=tuple(added),
        prefix_ids=() if roles.cls is None else (roles.cls,),
        suffix_ids=() if roles.sep is None else (roles.sep,),
    )
    settings = Settings(pair_template=frame)  # type: ignore[arg-type]
    return TokenizerParts(reserve(vocabulary, config.added_tokens), config, settings)


def _ids(vocab: bytes) -> dict[str, int]:
    """Number the lines; an empty one is nobody's.

    Raises:
        InvalidArtifact: the file is not UTF-8, or an entry stands twice.
    """
    try:
        text = vocab.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InvalidArtifact(f"{VOCAB} is not UTF-8 at byte {error.start}", field=VOCAB) from None
    ids: dict[str, int] = {}
    for id, entry in enumerate(text.removesuffix("\n").split("\n")):
        if entry in ids:
            raise InvalidArtifact(
                f"{entry[:80]!r} stands in the lines {ids[entry] + 1} and {id + 1}",
                code="duplicate_token",
                field=f"{VOCAB} line {id + 1}",
            )
        if entry:
            ids[entry] = id
    return ids
