"""How the check of a law ends, if not well."""

from __future__ import annotations

DIFFER = "scores differ"
"""How the message of a violation begins if results that must be equal are not."""


class Violation(Exception):
    """The part does not have the property: why, and with which data (`case`)."""

    def __init__(self, why: str, case: str = ""):
        super().__init__(f"{case}: {why}" if case else why)
        self.why, self.case = why, case


class DoesNotApply(Exception):
    """The property is not defined for this part."""
