"""Unigram by its definition: many substrings, their probabilities by expectation maximization, and pruning.

After Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates"
(2018), and its program, sentencepiece, which both prune by likelihood. The steps stand in the order in which they are
done.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

LEAST = 0.5
SQRT_2, LN_2 = math.sqrt(2), 0.6931471805599453

Scores = dict[str, float]


def unigram(
    words: Mapping[str, int],
    vocab_size: int,
    *,
    seed_size: int = 1_000_000,
    shrinking_factor: float = 0.75,
    n_sub_iterations: int = 2,
    max_token_length: int = 16,
    required_characters: str = "",
) -> list[tuple[str, float]]:
    """Return pieces with the logarithms of their probabilities, the most probable first.

    Args:
        words: with how often each occurs.
        required_characters: pieces whether they occur or not, as all characters of the words are.
    """
    characters = dict.fromkeys(sorted({*required_characters, *(one for word in words for one in word)}), 0)
    for word, times in words.items():
        for character in word:
            characters[character] += times
    seeds = substrings(words, max_token_length, seed_size)
    weights = {one: max(float(count), LEAST) for one, count in characters.items()}
    weights |= {piece: float(score) for piece, score in sorted(seeds.items())}
    total = ln(added(list(weights.values())))
    scores = {piece: ln(weight) - total for piece, weight in weights.items()}
    aim = vocab_size * 11 // 10
    while True:
        for _ in range(n_sub_iterations):
            scores = maximized(expected(words, scores), characters)
        if len(scores) <= aim:
            break
        scores = pruned(scores, characters, max(aim, int(len(scores) * shrinking_factor)))
    return sorted(pruned(scores, characters, vocab_size).items(), key=lambda item: -item[1])


def substrings(words: Mapping[str, int], longest: int, most: int) -> dict[str, int]:
    """Return the first pieces with their scores: how often each occurs, times its length.

    A substring has two places or more, and not always the same character behind it; the end of a word is like no other
    character. A whole word that occurs twice needs only one place.
    """
    places: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for word, times in words.items():
        for start in range(len(word)):
            for end in range(start + 2, min(start + longest, len(word)) + 1):
                places[word[start:end]].append((word[end : end + 1], times))
    found = {}
    for piece, follows in places.items():
        behind = [character for character, _ in follows]
        differ = len(set(behind)) > 1 or behind.count("") > 1
        whole = len(follows) == 1 and words.get(piece, 0) > 1
        if (len(follows) > 1 and differ) or whole:
            found[piece] = sum(times for _, times in follows) * len(piece)
    best = sorted(found, key=lambda piece: (-found[piece], piece))[:most]
    return {piece: found[piece] for piece in best}


def expected(words: Mapping[str, int], scores: Scores) -> Scores:
    """Return how often each piece is expected over all ways to cut every word."""
    probabilities = {piece: exp(score) for piece, score in scores.items()}
    # The amount that a word adds is rounded to a fixed point, so that the order of words changes nothing.
    size = sum(len(word) * times for word, times in words.items())
    unit = 2.0 ** min(62 - size.bit_length(), 32)
    sums = dict.fromkeys(scores, 0)
    for word, times in words.items():
        edges = [ends(word, start, probabilities) for start in range(len(word))]
        forwards, backwards = [1.0] + [0.0] * len(word), [0.0] * len(word) + [1.0]
        for start in range(len(word)):
            for end in edges[start]:
                forwards[end] += forwards[start] * probabilities[word[start:end]]
        for start in reversed(range(len(word))):
            for end in edges[start]:
                probability = probabilities[word[start:end]]
                backwards[start] += backwards[end] * probability
                share = forwards[start] * probability * backwards[end] / forwards[-1]
                sums[word[start:end]] += round(share * float(times) * unit)
    return {piece: float(sum) / unit for piece, sum in sums.items()}


def maximized(counts: Scores, characters: Mapping[str, int]) -> Scores:
    """Drop the pieces that are hardly expected, and return the scores of the others."""
    kept = {piece: max(count, LEAST) for piece, count in counts.items() if piece in characters or count >= LEAST}
    total = digamma(added(list(kept.values())))
    return {piece: digamma(count) - total for piece, count in kept.items()}


def pruned(scores: Scores, characters: Mapping[str, int], left: int) -> Scores:
    """Keep ``left`` pieces: the characters, and those without which the corpus would have most tokens more.

    A piece saves its probability times one less than the number of pieces that would stand in its place.
    """
    saved = {piece: exp(score) * (float(parts(piece, scores)) - 1.0) for piece, score in scores.items()}
    others = [piece for piece in scores if piece not in characters]
    kept = {*characters, *sorted(others, key=lambda piece: -saved[piece])[: left - len(characters)]}
    return {piece: score for piece, score in scores.items() if piece in kept}


def parts(piece: str, scores: Scores) -> int:
    """Count the others into which a piece is cut with the highest sum; of equals the way whose last is the longest."""
    best, count = [0.0] + [-math.inf] * len(piece), [0] * (len(piece) + 1)
    for start in range(len(piece)):
        for end in ends(piece, start, scores):
            part = piece[start:end]
            if part != piece and best[start] + scores[part] > best[end]:
                best[end], count[end] = best[start] + scores[part], count[start] + 1
    return count[-1]


def ends(word: str, start: int, pieces: Mapping[str, float]) -> list[int]:
    """Return the ends of the pieces that begin at a character, the shortest first."""
    return [end for end in range(start + 1, len(word) + 1) if word[start:end] in pieces]


def added(numbers: Sequence[float]) -> float:
    """Add from left to right, which newer versions of ``sum`` do not."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def ln(x: float) -> float:
    """Return the logarithm, by operations that round alike on every machine."""
    mantissa, exponent = math.frexp(x)
    mantissa, exponent = mantissa * 2, exponent - 1
    if mantissa > SQRT_2:
        mantissa, exponent = mantissa / 2, exponent + 1
    t = (mantissa - 1.0) / (mantissa + 1.0)
    square = t * t
    total = 0.0
    for term in range(11, -1, -1):
        total = total * square + 1.0 / (2 * term + 1)
    return exponent * LN_2 + 2.0 * t * total


def exp(x: float) -> float:
    """Return the exponential of a number of at most 0, by such operations; 0 below the normal numbers."""
    if x < -700.0:
        return 0.0
    halvings = round(x / LN_2)
    rest = x - halvings * LN_2
    total = 1.0
    for term in range(14, 0, -1):
        total = 1.0 + total * rest / term
    return math.ldexp(total, halvings)


def digamma(x: float) -> float:
    """Return the digamma function, by such operations."""
    result = 0.0
    while x < 7.0:
        result -= 1.0 / x
        x += 1.0
    x -= 0.5
    square = 1.0 / x / x
    fourth = square * square
    result += ln(x) + square / 24.0 - 7.0 / 960.0 * fourth + 31.0 / 8064.0 * fourth * square
    return result - 127.0 / 30720.0 * fourth * fourth
