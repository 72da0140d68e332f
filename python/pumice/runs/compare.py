"""Comparisons from Python: variants of a device run and set side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pumice.errors import SimulationError, SpecError, in_python_words
from pumice.results import comparison
from pumice.results.comparison import Variant
from pumice.results.result import Result
from pumice.runs.batch import Settings, run_jobs
from pumice.runs.grid import Grid, repeated
from pumice.runs.jobs import Job
from pumice.runs.spec import Spec, check_spec
from pumice.runs.sweep import raise_if_refused
from pumice.runs.values import Value
from pumice.traces.kept import as_trace

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Comparison:
    """Variants side by side, with ratios to the first. As text it is the table of `pumice compare`.

    Attributes:
        variants: label and documents of each variant, one document a seed.
    """

    variants: Sequence[Variant]

    def results(self) -> dict[str, list[Result]]:
        """The results of each variant, one a seed, by its label."""
        return {variant.label: [Result(document) for document in variant.documents] for variant in self.variants}

    def to_dict(self) -> dict[str, Any]:
        """Everything: documents, and each row with means, half-widths of their 95 % intervals and ratios."""
        return comparison.index(self.variants)

    def table(self) -> pa.Table:
        """One row a figure: `metric`, `field`, `unit`, then mean and ratio of each variant."""
        import pyarrow as pa  # loaded here: it starts slowly

        rows = comparison.index(self.variants)["rows"]
        columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in ("metric", "field", "unit")}
        for place, variant in enumerate(self.variants):
            columns[variant.label] = [row["values"][place]["mean"] for row in rows]
            if place:
                columns[f"{variant.label}, ratio"] = [row["values"][place]["ratio"] for row in rows]
        return pa.table(columns)

    def __repr__(self) -> str:
        """The table as text."""
        head, rows = comparison.as_text(self.variants)
        widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width) for place, (cell, width) in enumerate(pairs)
            )
            for pairs in (list(zip(row, widths, strict=True)) for row in [head, *rows])
        ]
        return "\n".join(line.rstrip() for line in lines)


@in_python_words
def compare(
    variants: Spec | Mapping[str, Spec],
    vary: Mapping[str, Sequence[Value]] | None = None,
    *,
    requests: Any = None,
    columns: str | None = None,
    repeat: int = 1,
    workers: int | None = None,
) -> Comparison:
    """Runs variants and sets them side by side.

    Args:
        variants: specs by their labels, or one spec whose keys are varied.
        vary: values by `section.key`, of the one spec; every combination is a variant.
        requests: a table of requests in place of the workload of every variant, as `pumice.run` takes it.
        columns: which column of the table is what, as there.
        repeat: runs of each variant, over consecutive seeds.
        workers: processes; None starts one for each CPU. The numbers do not depend on it.

    Raises:
        SpecError: fewer than two variants, or one that is refused; nothing was run then.
        SimulationError: a run ended in an error; the text names its variant.
        TraceError: a column of the table is missing or holds what is not allowed.
        Interrupted: Ctrl-C. It is a KeyboardInterrupt.

    Example:
        >>> base = pumice.preset("tiny").with_(run={"max_requests": 1000})
        >>> found = pumice.compare(base, vary={"ftl.merge": ["block-erase", "m-merge"]}, workers=1)
        >>> [variant.label for variant in found.variants]
        ['merge = block-erase', 'merge = m-merge']
    """
    with as_trace(requests, columns) as replay:
        groups = _groups(variants, vary, repeat, replay)
        outcomes = run_jobs([job for _, jobs in groups for job in jobs], Settings("compare", workers, all_or_none=True))
    raise_if_refused(outcomes)
    for outcome in outcomes:
        if outcome.document is None:
            raise SimulationError(f"{outcome.job.label}: {outcome.error}")
    rest = iter(outcomes)
    taken = [(label, [next(rest).document for _ in jobs]) for label, jobs in groups]
    return Comparison([Variant(label, [one for one in documents if one is not None]) for label, documents in taken])


def _groups(
    variants: Spec | Mapping[str, Spec],
    vary: Mapping[str, Sequence[Value]] | None,
    repeat: int,
    replay: Any,
) -> list[tuple[str, list[Job]]]:
    """Label and runs of each variant.

    Raises:
        SpecError: there are fewer than two, or both kinds of variants.
    """
    if isinstance(variants, list | tuple):
        raise SpecError('compare takes specs by their labels; allowed: {"a": spec, "b": spec}')
    if isinstance(variants, Mapping):
        if vary is not None:
            raise SpecError("compare varies the keys of one spec; give a spec in place of a dictionary of specs")
        groups = [
            (str(label), repeated(replay(check_spec(spec)), repeat, str(label))) for label, spec in variants.items()
        ]
    else:
        groups = Grid(replay(check_spec(variants)), vary or {}, repeat).groups()
    if len(groups) < 2:
        raise SpecError('compare needs at least two variants: {"a": spec, "b": spec}, or vary={"section.key": [1, 2]}')
    return groups
