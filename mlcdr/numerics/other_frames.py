"""DataFrames of other libraries than pandas: polars, pyarrow, and those that have `to_pandas`."""

from __future__ import annotations

from typing import Any


def is_frame(values: Any) -> bool:
    """Whether something is a DataFrame of any library."""
    return hasattr(type(values), "columns")  # of the type: a LazyFrame of polars computes its own, and warns


def as_pandas(values: Any) -> Any:
    """A DataFrame of another library as one of pandas; anything else is returned unchanged.

    polars is converted column by column, so that pyarrow, which its own conversion needs, need not be installed.

    Raises
    ------
    ValueError
        For a frame of which the cells are not there yet, such as a LazyFrame of polars.
    """
    if not is_frame(values) or hasattr(values, "iloc"):
        return values
    if hasattr(values, "get_column"):  # polars
        import pandas as pd

        return pd.DataFrame({name: _cells(values.get_column(name)) for name in values.columns})
    if hasattr(values, "to_pandas"):
        return values.to_pandas()
    hint = "give its `.collect()`" if hasattr(values, "collect") else "give one of pandas"
    raise ValueError(f"a {type(values).__name__} cannot be read; {hint}")


def _cells(column: Any) -> Any:
    """The cells of a column of polars; whole numbers stay whole beside missing ones."""
    import pandas as pd

    if column.null_count() and column.dtype.is_integer():
        return pd.array(column.to_list(), dtype="Int64")
    return column.to_numpy()
