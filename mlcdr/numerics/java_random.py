"""Numbers drawn as Java programs draw them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


@lru_cache(maxsize=8)
def java_shuffle(n: int, seed: int) -> NDArray[np.int32]:
    """0, …, n − 1 as java.util.Random shuffles them: from the last on, each changes places with one up to itself."""
    order = np.arange(n, dtype=np.int32)
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
    for last in range(n - 1, 0, -1):
        bound = last + 1
        while True:
            state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = state >> 17
            if bound & last == 0:
                chosen = bound * bits >> 31
                break
            chosen = bits % bound
            if bits - chosen + last < 1 << 31:
                break
        order[last], order[chosen] = order[chosen], order[last]
    order.setflags(write=False)
    return order
