"""Tokenization: text to token ids and back, exactly as a model's own tokenizer does.

>>> from tokenizer_core import Tokenizer
>>> tokenizer = Tokenizer.open("artifacts/base")

What text to ids and back does not need, such as training and chats, is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokenizer_core._kernel import CACHE_BYTES, MAX_CACHE_BYTES, MAX_NBEST, VERSION, Responder, core_count
from tokenizer_core.artifact import BASE_ARTIFACT, base_artifact
from tokenizer_core.config import AddedToken, PipelineConfig, Settings, Side, Unit
from tokenizer_core.encoding_options import SamplingOptions, SpecialTokens
from tokenizer_core.errors import (
    ArtifactError,
    ArtifactNotFound,
    Cancelled,
    ClusterFailed,
    CorpusError,
    CorpusForbidden,
    CorpusNotFound,
    CorpusTooLarge,
    EmptyCorpus,
    HashMismatch,
    HistoryRewritten,
    InputError,
    InternalError,
    InvalidArtifact,
    InvalidCorpus,
    InvalidOption,
    InvalidSettings,
    InvalidUnicode,
    MessageNotRendered,
    ReservedLiteral,
    RowTooLong,
    StepLimit,
    TemplateFailed,
    TemplateLimit,
    TemplateMissing,
    TemplateUnsupported,
    TemplateUntrackable,
    TokdError,
    UncoveredText,
    UnknownTokenId,
    Unsupported,
)
from tokenizer_core.formats.recognise import FORMATS, Format
from tokenizer_core.results import CacheStatistics, EncodedBatch, Offsets, Segmentation
from tokenizer_core.stages import Rewriting
from tokenizer_core.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokenizer_core._kernel import SegmentCache, count_json, numbers_json
    from tokenizer_core.chat.content_parts import media_of
    from tokenizer_core.chat.encoding import ChatPolicy, EncodedChat, ReservedSpan
    from tokenizer_core.chat.json_list import JsonList, cut_out
    from tokenizer_core.chat.rendered import Message, RenderedChat, Span
    from tokenizer_core.chat.rendering import (
        ChatRenderer,
        NotPlain,
        RenderingOptions,
        StepsSpent,
        steps_bounded,
        writes_every_message,
    )
    from tokenizer_core.chat.responding import ChatAnswerOptions, ChatAnswers, ChatRoute
    from tokenizer_core.chat.templates import ContentFormat, MessageForm
    from tokenizer_core.checking import CheckReport, Point, Status, check, check_artifact
    from tokenizer_core.comparing import MAX_COMPARED, Comparison, TextCost, TextSize, TokenizerSummary, compare
    from tokenizer_core.corpus.bounds import Bounds
    from tokenizer_core.corpus.files import Files
    from tokenizer_core.corpus.reading import CorpusFormat, OnError
    from tokenizer_core.corpus.sample import sample_corpus
    from tokenizer_core.engines.engine import Engine
    from tokenizer_core.engines.ray import RayEngine
    from tokenizer_core.exact_prefix import ContinuedChat, RewrittenHistory, continue_chat, continue_ids, prefix_stable
    from tokenizer_core.examples import TrainedOn
    from tokenizer_core.explaining import MAX_EXPLAINED, Explainer
    from tokenizer_core.export import Beside, to_huggingface, to_sentencepiece, to_tiktoken, to_vocab_merges
    from tokenizer_core.kv_blocks import BlockHashes, block_hashes, prefix_hash
    from tokenizer_core.languages import ARTICLE_1
    from tokenizer_core.nearest import did_you_mean
    from tokenizer_core.packing.files import PackFormat, write_packs
    from tokenizer_core.packing.pack import PackOptions, pack, pack_files
    from tokenizer_core.packing.packs import PackBlock, Packs, TokenRows
    from tokenizer_core.packing.plan import MAX_LENGTH, Method, Overflow, PackPlan, plan_packs
    from tokenizer_core.packing.token_files import PackLayout
    from tokenizer_core.padding import Cut, Padding, Row, overlapping, pad_id_of, padded_width, shape_rows
    from tokenizer_core.pairs import EncodedPair, Truncation
    from tokenizer_core.responses import ChatParser, ParsedChat, ResponseTemplate
    from tokenizer_core.spans import length_in
    from tokenizer_core.token_counts import Fertility, fertility, fertility_by_language
    from tokenizer_core.token_files.checking import TokenFilesReport, check_token_files
    from tokenizer_core.token_files.claims import Claims
    from tokenizer_core.token_files.layouts import LayoutName
    from tokenizer_core.token_files.layouts.layout import Dtype
    from tokenizer_core.token_files.manifest import TokenFiles, is_token_files, read_token_files
    from tokenizer_core.token_files.recipe import EndOfText, check_encode_options
    from tokenizer_core.token_files.run import EncodingProgress, encode_corpus, has_free_task
    from tokenizer_core.training.characters import CharacterMerges, train_characters
    from tokenizer_core.training.counts import Counts
    from tokenizer_core.training.described import Setting
    from tokenizer_core.training.entry_settings import (
        CharacterSettings,
        Normalizing,
        WordPieceSettings,
        Words,
        WordSettings,
    )
    from tokenizer_core.training.plans import TrainingWarning
    from tokenizer_core.training.progress import Progress, TimeLeft
    from tokenizer_core.training.recipe import Recipe, training_settings
    from tokenizer_core.training.report import LanguageCost, TrainingReport
    from tokenizer_core.training.run import TrainingRun
    from tokenizer_core.training.sentencepiece_settings import SentencePieceBpeSettings
    from tokenizer_core.training.settings import TieBreak, TrainSettings
    from tokenizer_core.training.train import counted, extend, train, train_sizes
    from tokenizer_core.training.unigram_settings import UnigramSettings

__all__ = [
    "ARTICLE_1",
    "BASE_ARTIFACT",
    "CACHE_BYTES",
    "FORMATS",
    "MAX_CACHE_BYTES",
    "MAX_COMPARED",
    "MAX_EXPLAINED",
    "MAX_LENGTH",
    "MAX_NBEST",
    "VERSION",
    "AddedToken",
    "ArtifactError",
    "ArtifactNotFound",
    "Beside",
    "BlockHashes",
    "Bounds",
    "CacheStatistics",
    "Cancelled",
    "CharacterMerges",
    "CharacterSettings",
    "ChatAnswerOptions",
    "ChatAnswers",
    "ChatParser",
    "ChatPolicy",
    "ChatRenderer",
    "ChatRoute",
    "CheckReport",
    "Claims",
    "ClusterFailed",
    "Comparison",
    "ContentFormat",
    "ContinuedChat",
    "CorpusError",
    "CorpusForbidden",
    "CorpusFormat",
    "CorpusNotFound",
    "CorpusTooLarge",
    "Counts",
    "Cut",
    "Dtype",
    "EmptyCorpus",
    "EncodedBatch",
    "EncodedChat",
    "EncodedPair",
    "EncodingProgress",
    "EndOfText",
    "Engine",
    "Explainer",
    "Fertility",
    "Files",
    "Format",
    "HashMismatch",
    "HistoryRewritten",
    "InputError",
    "InternalError",
    "InvalidArtifact",
    "InvalidCorpus",
    "InvalidOption",
    "InvalidSettings",
    "InvalidUnicode",
    "JsonList",
    "LanguageCost",
    "LayoutName",
    "Message",
    "MessageForm",
    "MessageNotRendered",
    "Method",
    "Normalizing",
    "NotPlain",
    "Offsets",
    "OnError",
    "Overflow",
    "PackBlock",
    "PackFormat",
    "PackLayout",
    "PackOptions",
    "PackPlan",
    "Packs",
    "Padding",
    "ParsedChat",
    "PipelineConfig",
    "Point",
    "Progress",
    "RayEngine",
    "Recipe",
    "RenderedChat",
    "RenderingOptions",
    "ReservedLiteral",
    "ReservedSpan",
    "Responder",
    "ResponseTemplate",
    "Rewriting",
    "RewrittenHistory",
    "Row",
    "RowTooLong",
    "SamplingOptions",
    "SegmentCache",
    "Segmentation",
    "SentencePieceBpeSettings",
    "Setting",
    "Settings",
    "Side",
    "Span",
    "SpecialTokens",
    "Status",
    "StepLimit",
    "StepsSpent",
    "TemplateFailed",
    "TemplateLimit",
    "TemplateMissing",
    "TemplateUnsupported",
    "TemplateUntrackable",
    "TextCost",
    "TextSize",
    "TieBreak",
    "TimeLeft",
    "TokdError",
    "TokenFiles",
    "TokenFilesReport",
    "TokenRows",
    "Tokenizer",
    "TokenizerSummary",
    "TrainSettings",
    "TrainedOn",
    "TrainingReport",
    "TrainingRun",
    "TrainingWarning",
    "Truncation",
    "UncoveredText",
    "UnigramSettings",
    "Unit",
    "UnknownTokenId",
    "Unsupported",
    "WordPieceSettings",
    "WordSettings",
    "Words",
    "base_artifact",
    "block_hashes",
    "check",
    "check_artifact",
    "check_encode_options",
    "check_token_files",
    "compare",
    "continue_chat",
    "continue_ids",
    "core_count",
    "count_json",
    "counted",
    "cut_out",
    "did_you_mean",
    "encode_corpus",
    "extend",
    "fertility",
    "fertility_by_language",
    "has_free_task",
    "is_token_files",
    "length_in",
    "media_of",
    "numbers_json",
    "overlapping",
    "pack",
    "pack_files",
    "pad_id_of",
    "padded_width",
    "plan_packs",
    "prefix_hash",
    "prefix_stable",
    "read_token_files",
    "sample_corpus",
    "shape_rows",
    "steps_bounded",
    "to_huggingface",
    "to_sentencepiece",
    "to_tiktoken",
    "to_vocab_merges",
    "train",
    "train_characters",
    "train_sizes",
    "training_settings",
    "write_packs",
    "writes_every_message",
]

_LATER = {
    name: module
    for module, names in {
        "_kernel": ("SegmentCache", "count_json", "numbers_json"),
        "chat.encoding": ("ChatPolicy", "EncodedChat", "ReservedSpan"),
        "chat.rendered": ("Message", "RenderedChat", "Span"),
        "chat.rendering": (
            "ChatRenderer",
            "NotPlain",
            "RenderingOptions",
            "StepsSpent",
            "steps_bounded",
            "writes_every_message",
        ),
        "chat.json_list": ("JsonList", "cut_out"),
        "chat.responding": ("ChatAnswerOptions", "ChatAnswers", "ChatRoute"),
        "chat.templates": ("ContentFormat", "MessageForm"),
        "checking": ("CheckReport", "Point", "Status", "check", "check_artifact"),
        "chat.content_parts": ("media_of",),
        "comparing": ("MAX_COMPARED", "Comparison", "TextCost", "TextSize", "TokenizerSummary", "compare"),
        "corpus.bounds": ("Bounds",),
        "corpus.files": ("Files",),
        "corpus.reading": ("CorpusFormat", "OnError"),
        "corpus.sample": ("sample_corpus",),
        "token_counts": ("Fertility", "fertility", "fertility_by_language"),
        "token_files.claims": ("Claims",),
        "token_files.checking": ("TokenFilesReport", "check_token_files"),
        "token_files.layouts": ("LayoutName",),
        "token_files.layouts.layout": ("Dtype",),
        "token_files.manifest": ("TokenFiles", "is_token_files", "read_token_files"),
        "token_files.recipe": ("EndOfText", "check_encode_options"),
        "token_files.run": ("EncodingProgress", "encode_corpus", "has_free_task"),
        "engines.engine": ("Engine",),
        "engines.ray": ("RayEngine",),
        "examples": ("TrainedOn",),
        "exact_prefix": ("ContinuedChat", "RewrittenHistory", "continue_chat", "continue_ids", "prefix_stable"),
        "explaining": ("MAX_EXPLAINED", "Explainer"),
        "export": ("Beside", "to_huggingface", "to_sentencepiece", "to_tiktoken", "to_vocab_merges"),
        "languages": ("ARTICLE_1",),
        "kv_blocks": ("BlockHashes", "block_hashes", "prefix_hash"),
        "nearest": ("did_you_mean",),
        "packing.files": ("PackFormat", "write_packs"),
        "packing.pack": ("PackOptions", "pack", "pack_files"),
        "packing.packs": ("PackBlock", "Packs", "TokenRows"),
        "packing.token_files": ("PackLayout",),
        "packing.plan": ("MAX_LENGTH", "Method", "Overflow", "PackPlan", "plan_packs"),
        "pairs": ("EncodedPair", "Truncation"),
        "padding": ("Cut", "Padding", "Row", "overlapping", "pad_id_of", "padded_width", "shape_rows"),
        "responses": ("ChatParser", "ParsedChat", "ResponseTemplate"),
        "spans": ("length_in",),
        "training.characters": ("CharacterMerges", "train_characters"),
        "training.counts": ("Counts",),
        "training.entry_settings": ("CharacterSettings", "Normalizing", "WordPieceSettings", "WordSettings", "Words"),
        "training.plans": ("TrainingWarning",),
        "training.progress": ("Progress", "TimeLeft"),
        "training.described": ("Setting",),
        "training.recipe": ("Recipe", "training_settings"),
        "training.report": ("LanguageCost", "TrainingReport"),
        "training.run": ("TrainingRun",),
        "training.settings": ("TieBreak", "TrainSettings"),
        "training.sentencepiece_settings": ("SentencePieceBpeSettings",),
        "training.unigram_settings": ("UnigramSettings",),
        "training.train": ("counted", "extend", "train", "train_sizes"),
    }.items()
    for name in names
}
"""The module of every name that is imported when it is first asked for."""


if not TYPE_CHECKING:  # A checker would believe that every name is there.

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = value
        return value


_FOR_PEOPLE = """
    VERSION Tokenizer TokdError ArtifactError CorpusError InputError InvalidOption ReservedLiteral UnknownTokenId
    AddedToken BlockHashes ChatParser ContinuedChat EncodedBatch EncodedChat EncodedPair Offsets ParsedChat
    PipelineConfig RenderedChat ResponseTemplate Segmentation Settings block_hashes prefix_hash continue_chat
    shape_rows train train_characters train_sizes extend counted Counts Recipe TrainingReport TrainingRun
    TrainSettings CharacterSettings SentencePieceBpeSettings UnigramSettings WordPieceSettings WordSettings check
    check_artifact CheckReport compare Comparison fertility fertility_by_language Fertility Explainer encode_corpus
    read_token_files check_token_files sample_corpus Files RayEngine TokenFiles pack pack_files plan_packs write_packs
    Packs to_huggingface to_sentencepiece to_tiktoken to_vocab_merges
"""
"""The rest of ``__all__`` are words and parts for the service, and errors below these."""


def __dir__() -> list[str]:
    return sorted(_FOR_PEOPLE.split())
