"""The catalogue's facts."""


def close_names(name: str) -> list[str]:
    """Names of the catalogue that are like `name`."""
    return []


def entry_names() -> set[str]:
    """All names of the catalogue."""
    return set()
