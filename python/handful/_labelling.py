"""Labels as columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from handful._types import Classes, Flags, Floats


@dataclass(frozen=True, eq=False)
class Labelling:
    """A label for every row, and what each is worth.

    Attributes
    ----------
    label : ndarray of shape (n_rows,)
        The class.
    probability : ndarray of float32
        Its probability; 1 where the label was given.
    credibility : ndarray of float32
        Place of the row's IDA value among the rows of its class, from 0 to 1.
    source : ndarray of str
        ``given``, ``inferred`` or ``rejected``.
    margin : ndarray of float32
        Lead over the second likeliest class.
    agreement : ndarray of float32
        Share of the opinions that were the final one.
    familiarity : ndarray of float32
        How much the row looks like one of the classes at all.
    error : ndarray of float32
        Estimated probability that the label is wrong, at the pessimistic end.
    """

    label: Classes
    probability: Floats
    credibility: Floats
    source: Classes
    margin: Floats
    agreement: Floats
    familiarity: Floats
    error: Floats

    def __len__(self) -> int:
        return len(self.label)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{int(np.sum(self.source == kind))} {kind}" for kind in np.unique(self.source))
        return f"Labelling({len(self)} rows: {kinds})"

    def columns(self) -> dict[str, Any]:
        """The columns by name, in the order of the command's CSV."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_pandas(self, index: Any = None) -> Any:
        """As a ``pandas.DataFrame``."""
        import pandas as pd

        return pd.DataFrame(self.columns(), index=index)

    def to_polars(self) -> Any:
        """As a ``polars.DataFrame``."""
        import polars as pl

        return pl.DataFrame(self.columns())

    def _repr_html_(self) -> str:
        try:
            return str(self.to_pandas()._repr_html_())
        except ImportError:
            return f"<pre>{self!r}</pre>"


def from_columns(columns: dict[str, Any], classes: Classes, rejected: Flags) -> Labelling:
    """Names for numbers."""
    source = np.where(columns["given"], "given", np.where(rejected, "rejected", "inferred"))
    return Labelling(
        label=classes[columns["class"]],
        probability=columns["probability"],
        credibility=columns["credibility"],
        source=source,
        margin=columns["margin"],
        agreement=columns["agreement"],
        familiarity=columns["familiarity"],
        error=columns["error"],
    )
