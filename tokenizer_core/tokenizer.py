"""The facade: one immutable tokenizer, from files to ids and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from tokenizer_core import artifact, loading
from tokenizer_core._kernel import CACHE_BYTES, EXPRESSION_STEPS, Pipeline, StreamDecoder
from tokenizer_core.arguments import check_kind, check_unicode
from tokenizer_core.config import TokenizerParts, Unit
from tokenizer_core.encoding_options import SamplingOptions, SpecialTokens
from tokenizer_core.formats import tiktoken, vocab_merges
from tokenizer_core.formats.added import reserved
from tokenizer_core.formats.recognise import Format
from tokenizer_core.results import EncodedBatch, Offsets, Segmentation
from tokenizer_core.tokenizer_chats import TokenizerChats
from tokenizer_core.tokenizer_facts import TokenizerFacts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tokenizer_core.encoded_texts import Text
    from tokenizer_core.pairs import EncodedPair, PairOptions

    Ids = npt.NDArray[np.uint32]


class Tokenizer(TokenizerChats):
    """Turn text into token ids and back, exactly as the model's own tokenizer does.

    Immutable and safe to share between threads; heavy calls release the GIL. Equal hashes mean equal ids.

    >>> from tokenizer_core import Tokenizer
    >>> tokenizer = Tokenizer.open("artifacts/base")
    >>> tokenizer.decode(tokenizer.encode("Hello, world"))
    'Hello, world'
    """

    __slots__ = ("_bounds",)

    def __init__(
        self, parts: TokenizerParts, *, cache_bytes: int = CACHE_BYTES, expression_steps: int = EXPRESSION_STEPS
    ) -> None:
        """Build from what a reader returned; the class methods read files.

        Args:
            cache_bytes, expression_steps: as in ``open``.
        """
        check_kind(parts, TokenizerParts, "parts")
        bounds = cache_bytes, expression_steps
        self._begin(parts, Pipeline(parts.vocabulary, parts.pipeline_json(), *bounds), bounds)

    def _begin(self, parts: TokenizerParts, pipeline: Pipeline, bounds: tuple[int, int]) -> None:
        TokenizerFacts.__init__(self, parts, pipeline)
        self._bounds = bounds

    @classmethod
    def open(
        cls, path: str | Path, *, cache_bytes: int = CACHE_BYTES, expression_steps: int = EXPRESSION_STEPS
    ) -> Self:
        """Open an artifact directory and verify every hash in its manifest.

        Args:
            cache_bytes: bound of the piece cache of each thread that encodes, at most ``MAX_CACHE_BYTES`` (1 GiB); 0
                leaves a few entries.
            expression_steps: what the artifact's own regular expressions may take for any text, however short; each
                byte brings 64 more. 67 million take under half a second.

        Raises:
            ArtifactNotFound, HashMismatch, InvalidArtifact, InvalidOption, Unsupported
        """
        return cls(artifact.read(path), cache_bytes=cache_bytes, expression_steps=expression_steps)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        format: Format | None = None,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> Self:
        """Read a model's tokenizer file or directory; its content decides the format.

        Of a directory, what the model's own library would read is read, and the files beside it; ``provenance`` says
        what was passed over.

        Args:
            format: the format, instead of the one that the content shows.
            pattern, special_tokens: as in ``from_tiktoken``, of a format that does not hold them.

        Raises:
            ArtifactNotFound, HashMismatch, InvalidArtifact, InvalidOption, TemplateFailed, Unsupported
        """
        parts = loading.read(path, format=format, pattern=pattern, special_tokens=special_tokens)
        tokenizer = cls(parts, cache_bytes=cache_bytes)
        tokenizer._warn_of_missing_tokens()
        return tokenizer

    @classmethod
    def from_tiktoken(cls, path: str | Path, *, pattern: str, special_tokens: Mapping[str, int] | None = None) -> Self:
        """Read a rank file.

        Args:
            pattern: the name of a known pattern, or a regular expression as tiktoken reads it.
            special_tokens: ids by literal.

        Raises:
            ArtifactNotFound, InvalidArtifact, InvalidOption
        """
        return cls(tiktoken.read(path, pattern=pattern, special_tokens=special_tokens))

    @classmethod
    def from_hf(cls, path: str | Path) -> Self:
        """Read a directory in Hugging Face's layout, or a ``tokenizer.json`` with the files beside it.

        A file of another name is read alone. The chat templates are compiled.

        Raises:
            ArtifactNotFound, InvalidArtifact, InvalidOption, TemplateFailed, Unsupported
        """
        tokenizer = cls(loading.read(path, format="huggingface"))
        tokenizer._warn_of_missing_tokens()
        return tokenizer

    @classmethod
    def from_vocab_merges(
        cls,
        vocab: str | Path,
        merges: str | Path,
        *,
        pattern: str = "gpt2",
        special_tokens: Mapping[str, int] | None = None,
    ) -> Self:
        """Read GPT-2's ``vocab.json`` and ``merges.txt``; ``pattern`` and ``special_tokens`` as in ``from_tiktoken``.

        Raises:
            ArtifactNotFound, InvalidArtifact, InvalidOption
        """
        return cls(vocab_merges.read(vocab, merges, pattern=pattern, special_tokens=special_tokens))

    def save(self, path: str | Path, *, name: str | None = None) -> None:
        """Write an artifact directory: all of it appears at once, or nothing.

        Args:
            path: the directory; an existing artifact is replaced, anything else is left alone, also an
                artifact with other files in its directory.
            name: written into the manifest; by default the directory's name.

        Raises:
            InvalidArtifact, InvalidOption, Unsupported
            OSError: the place cannot be written to.
        """
        artifact.write(self._parts, path, name=name)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special_tokens: SpecialTokens = "reject",
        add_special_tokens: bool = False,
        threads: int = 0,
        **sampling: Unpack[SamplingOptions],
    ) -> EncodedBatch:
        """Encode many texts over ``threads`` threads, by default one a core; ids do not depend on how many.

        Args:
            add_special_tokens: as of ``encode``, false by default; true on routes and in ``encode_pair``.
            sampling: as of ``encode``; each text draws for itself, by the seed and its row.

        Raises:
            InvalidOption, and as ``encode``: with the ``row`` of the first text that fails
        """
        encoded = self._pipeline.encode_batch(texts, special_tokens, add_special_tokens, threads, **sampling)
        return EncodedBatch(*encoded)

    def nbest(
        self, text: str, n: int, *, special_tokens: SpecialTokens = "reject", add_special_tokens: bool = False
    ) -> list[Segmentation]:
        """Return the ``n`` most probable segmentations of a text by a Unigram model, the best first.

        There may be fewer. Unlike ``encode``, they are compared by sums of 64-bit floats also where the model's own
        library adds 32-bit floats.

        Raises:
            InvalidOption: ``n`` is not from 1 to ``MAX_NBEST``, or the model has no scores; and as ``encode``
        """
        found = self._pipeline.nbest(text, n, special_tokens, add_special_tokens)
        return [Segmentation(ids, score) for ids, score in found]

    def offsets(
        self,
        text: str,
        unit: Unit = "char",
        *,
        special_tokens: SpecialTokens = "reject",
        add_special_tokens: bool = False,
    ) -> Offsets:
        """Encode a text with the span of every id in the text as it was given, through any normalizer.

        Args:
            add_special_tokens: as of ``encode``, false by default; true on routes and in ``encode_pair``.
        """
        return Offsets(*self._pipeline.offsets(text, unit, special_tokens, add_special_tokens), text, unit)

    def encode_pair(self, text: Text, text_pair: Text | None, **options: Unpack[PairOptions]) -> EncodedPair:
        """Encode two texts into one row, with type ids; ``None`` for the second encodes the first alone.

        A text may be a list of words. Each word is encoded as a text of its own, as transformers does with
        ``is_split_into_words``, and the row has ``word_ids``.

        Args:
            special_tokens: as of ``encode``.
            add_special_tokens: put the frame of a pair around the texts; true by default, unlike in ``encode``.
            max_length: the most ids, special tokens included; what is over is cut from the texts.
            truncation: which text is cut: ids from whichever is longer (``"longest_first"``, or true), or those of one
                alone. With it, ``max_length`` is by default the model's, if that is known.
            truncation_side: the end of a text that is cut; by default the tokenizer's own.
            unit: also return the span of every id, in its own text, or its own word.
            word_ids: also number the pieces of texts that are not lists of words.

        Raises:
            InvalidOption, and as ``encode``: with the field ``text_pair`` for the second text, and the ``index`` of a
                word
        """
        from tokenizer_core import pairs

        return pairs.encode(self._pipeline, self._parts, text, text_pair, **options)

    def encode_pair_batch(
        self,
        texts: Sequence[Text] | str,
        text_pairs: Sequence[Text] | None,
        *,
        threads: int = 0,
        stride: int | None = None,
        most_ids: int | None = None,
        word_labels: Sequence[Sequence[int]] | None = None,
        **options: Unpack[PairOptions],
    ) -> list[EncodedPair]:
        """Encode many pairs, or many texts where ``text_pairs`` is ``None``; options as of ``encode_pair``.

        One text, such as a query, stands beside each of ``text_pairs``.

        With a ``stride`` nothing is cut off: a text with more than ``max_length`` ids becomes several rows, each with
        its special tokens and spans into the whole text. Each shares so many ids with the one before; ``overflow_of``
        names the text. Of a pair ``truncation`` names the text that is cut. ``most_ids`` bounds the ids of such rows,
        of which each counts as 64 at least, and those of one text beside many.

        ``word_labels`` has a label for each word of ``texts``: rows have it at the first id of the word.

        ``shape_rows`` pads the ids, and ``Row.carry`` their type ids.

        Raises:
            InvalidOption, and as ``encode_pair``: with the ``row`` of the first text that fails
        """
        from tokenizer_core import pairs

        return pairs.encode_batch(
            self._pipeline,
            self._parts,
            texts,
            text_pairs,
            threads=threads,
            stride=stride,
            most_ids=most_ids,
            word_labels=word_labels,
            **options,
        )

    def count_pair(
        self, text: str, text_pair: str, *, special_tokens: SpecialTokens = "reject", add_special_tokens: bool = True
    ) -> int:
        """Count the ids of two texts in one row without building them; arguments are those of ``encode_pair``."""
        from tokenizer_core import pairs

        framing = pairs.Framing(self._parts, is_pair=True, add_special_tokens=add_special_tokens)
        first = self.count(text, special_tokens=special_tokens)
        with pairs.of_second_text():
            return framing.special_tokens + first + self.count(text_pair, special_tokens=special_tokens)

    def with_template(self, source: str) -> Self:
        """Return the same tokenizer with another chat template: equal ids, of the same class as ``with_parts``.

        Give roles first (``with_roles``): the log names a token that the template reads and nobody has.

        Raises:
            InvalidOption: not a string of Unicode. TemplateFailed: not a Jinja template.
            TemplateUnsupported: a construct that is not supported.
        """
        from tokenizer_core.chat.templates import compiled

        check_unicode(source, "source")
        compiled(source)
        settings = replace(self.settings, chat_template=source, named_templates=())
        made = self.with_parts(replace(self._parts, settings=settings))
        made._warn_of_missing_tokens()
        return made

    def with_roles(self, *, bos: str | None = None, eos: str | None = None, pad: str | None = None) -> Self:
        """Return the same tokenizer with other roles of added tokens: equal ids, of the same class as ``with_parts``.

        Raises:
            InvalidOption: no added token has this literal.
        """
        from tokenizer_core.padding import id_of_role

        own = self.settings
        for role, literal in (("bos", bos), ("eos", eos), ("pad", pad)):
            if literal is not None:
                check_unicode(literal, f"{role}_token")
                id_of_role(role, literal, self.added_tokens)
        settings = replace(own, bos=bos or own.bos, eos=eos or own.eos, pad=pad or own.pad)
        return self.with_parts(replace(self._parts, settings=settings))

    def with_parts(self, parts: TokenizerParts) -> Self:
        """Return a tokenizer of other parts that is of the same class, with the same bound of its piece caches.

        Of a subclass it has the attributes too, but for cached properties, which are computed again.

        Raises:
            InvalidArtifact, InvalidOption
        """
        check_kind(parts, TokenizerParts, "parts")
        cls, own = type(self), self._parts
        twin = Tokenizer.__new__(cls)
        same = parts.vocabulary is own.vocabulary and parts.config is own.config
        if same and parts.cleans_up == own.cleans_up:
            pipeline = self._pipeline
        else:
            parts = reserved(parts)
            pipeline = Pipeline(parts.vocabulary, parts.pipeline_json(), *self._bounds)
        Tokenizer._begin(twin, parts, pipeline, self._bounds)
        # A copy, because another thread may compute a cached property meanwhile.
        for name, value in vars(self).copy().items():
            if not isinstance(getattr(cls, name, None), cached_property):
                vars(twin)[name] = value
        return twin

    def stream_decoder(self, *, skip_special_tokens: bool = False) -> StreamDecoder:
        """Begin to decode ids as they come: the pushes and the finish together are the whole decode."""
        return self._pipeline.stream_decoder(skip_special_tokens)

    def pieces(self, text: str) -> list[str]:
        """Return the pretokenizer's cut of the normalized text; added tokens are not looked for."""
        return self._pipeline.pieces(text)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a tokenizer cannot be pickled; open its artifact in each process, or open it before the processes fork"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, vocab_size={self.vocab_size}, hash={self.hash!r})"
