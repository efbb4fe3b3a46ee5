"""Pairs of words that mean no and yes, in several languages."""

from __future__ import annotations

from collections.abc import Iterable

# As (no, yes); case is ignored. docs/data.md lists them.
_PAIRS = [
    *(("0", "1"), ("-1", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("off", "on")),
    *(("negative", "positive"), ("absent", "present"), ("disabled", "enabled"), ("inactive", "active")),
    *(("nein", "ja"), ("falsch", "wahr"), ("aus", "an"), ("nee", "ja"), ("nej", "ja"), ("nei", "ja")),
    *(("non", "oui"), ("faux", "vrai"), ("no", "si"), ("no", "sí"), ("no", "sì"), ("falso", "verdadero")),
    *(("falso", "vero"), ("não", "sim"), ("nao", "sim"), ("falso", "verdadeiro"), ("nie", "tak"), ("ne", "ano")),
    *(("nem", "igen"), ("nu", "da"), ("ne", "da"), ("ei", "kyllä"), ("hayır", "evet"), ("нет", "да"), ("не", "да")),
    *(("否", "是"), ("いいえ", "はい"), ("아니요", "예")),
]
BINARY = {frozenset(pair): pair for pair in _PAIRS}
"""{no, yes} → (no, yes)."""


def find_pair(words: Iterable[str]) -> tuple[str, str] | None:
    """The pair (no, yes) of which some words, in any case, are both, or one; None if they are of no pair."""
    folded = {word.casefold() for word in words}
    if not folded or len(folded) > 2:
        return None
    return next((pair for pair in BINARY.values() if folded <= set(pair)), None)
