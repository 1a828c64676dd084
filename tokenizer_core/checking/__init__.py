"""The audit of a tokenizer: twelve common faults, each passed, failed or not applicable, with evidence.

One file a point, but for two in ``special_tokens``; ``audit`` runs them in order, ``report`` is what they say, and
``texts`` what they try.
"""

from tokenizer_core.checking.audit import check, check_artifact
from tokenizer_core.checking.report import CheckReport, Point, Status

__all__ = ["CheckReport", "Point", "Status", "check", "check_artifact"]
