"""The rule of seeds: whatever is drawn has a source of randomness of its own, made of the seed and of names."""

from __future__ import annotations

import hashlib

from mlcdr.lazy_numpy import np


def seed_sequence(seed: int, *names: str | int) -> np.random.SeedSequence:
    """The independent source of randomness that belongs to `names` (data set, split number, method ...).

    A text enters by its SHA-256, a number as itself, both as the spawn key of a `SeedSequence` with entropy `seed`; so
    no source depends on how many others there are, nor on the order in which they are asked for.

    Examples
    --------
    >>> first, again, other = (seed_sequence(2012, "yeast", split) for split in (0, 0, 1))
    >>> first.generate_state(2).tolist() == again.generate_state(2).tolist() != other.generate_state(2).tolist()
    True
    """
    key = []
    for name in names:
        if isinstance(name, str):
            digest = hashlib.sha256(name.encode()).digest()
            name = int.from_bytes(digest[:16], "big")
        key.append(name)
    return np.random.SeedSequence(seed, spawn_key=tuple(key))
