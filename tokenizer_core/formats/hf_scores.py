"""Scores as ``tokenizer.json`` has them: decimal numbers, some of which Hugging Face reads a last bit off.

Its reader rounds twice: the digits to a float, and that float divided by a power of ten. The kernel reads the same way,
since the last bit decides between ways of equal sums.
"""

from __future__ import annotations

import math

_MOST_STEPS = 8
"""Neighbouring floats that are tried; two suffice for all that was read."""


def as_read(score: float) -> float:
    """Return what a reader makes of the shortest decimal number for a score."""
    digits, _, exponent = repr(abs(score)).partition("e")
    whole, _, fraction = digits.partition(".")
    shift = int(exponent or 0) - len(fraction)
    power = float(f"1e{abs(shift)}")
    number = float(int(whole + fraction))
    return math.copysign(number * power if shift >= 0 else number / power, score)


def to_write(score: float) -> float:
    """Return the float next to a score whose decimal number is read as the score; or the score, if there is none."""
    above = below = score
    for _ in range(_MOST_STEPS):
        for candidate in (above, below):
            if as_read(candidate) == score:
                return candidate
        above, below = math.nextafter(above, math.inf), math.nextafter(below, -math.inf)
    return score
