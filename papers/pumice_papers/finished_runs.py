"""The finished runs of a reproduction, found by study and by what was varied."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pumice.runs.jobs import Job, Outcome

#: A key's value in each run that is wanted.
Varied = Mapping[str, Any]

#: The key that names a run's workload.
WORKLOAD = "workload.kind"


class FinishedRuns:
    """Outcomes of runs, each with the study that it belongs to."""

    def __init__(self, named: Sequence[tuple[str, Outcome]]) -> None:
        self._named = named

    def outcomes(self, study: str) -> list[Outcome]:
        """The outcomes of a study, in order."""
        return [outcome for name, outcome in self._named if name == study]

    def seeds(self, studies: Collection[str]) -> list[int | None]:
        """The seeds with which all of some studies were run, ascending; None alone for runs that are not
        repeated."""
        of_studies = [{outcome.job.seed for outcome in self.outcomes(study)} for study in studies]
        common = set.intersection(*of_studies) if of_studies else set()
        return sorted(common, key=lambda seed: -1 if seed is None else seed)

    def of_seed(self, seed: int | None) -> FinishedRuns:
        """The runs with one seed, of all studies."""
        return FinishedRuns([(name, outcome) for name, outcome in self._named if outcome.job.seed == seed])

    def workloads(self, study: str) -> list[str]:
        """Workloads of a study in the order of their runs; twins by the name of their trace."""
        return list(dict.fromkeys(_workload(outcome.job) for outcome in self.outcomes(study)))

    def find(self, study: str, varied: Varied) -> dict[str, dict[str, Any] | None]:
        """The documents of the runs in which the given keys have the given values, by workload; None for a
        run that failed. Together with the workload the keys must name one run."""
        found: dict[str, dict[str, Any] | None] = {}
        for outcome in self._matching(study, varied):
            workload = _workload(outcome.job)
            assert workload not in found, f"{study}: {dict(varied)} names several runs of {workload}"
            found[workload] = outcome.document
        return found

    def one(self, study: str, varied: Varied) -> dict[str, Any]:
        """The document of the one run of a study in which the given keys have the given values.

        Raises:
            ValueError: they name no run or several, or the run failed.
        """
        match self._matching(study, varied):
            case [Outcome(document=dict(document))]:
                return document
            case found:
                raise ValueError(f"{study}: {dict(varied)} names {len(found)} runs, or one that failed")

    def by_seed(self, study: str, varied: Varied) -> dict[str, dict[int | None, dict[str, Any]]]:
        """As `find`, for a study that repeats its runs: documents by workload and seed, without failed runs."""
        found: dict[str, dict[int | None, dict[str, Any]]] = {}
        for outcome in self._matching(study, varied):
            documents = found.setdefault(_workload(outcome.job), {})
            if outcome.document is not None:
                documents[outcome.job.seed] = outcome.document
        return found

    def values(self, study: str, key: str) -> list[Any]:
        """The values of a varied key in the runs of a study, ascending."""
        return sorted({outcome.job.varied[key] for outcome in self.outcomes(study)})

    def points(self, study: str, keys: Sequence[str]) -> list[dict[str, Any]]:
        """What keys that change together are in the runs of a study, each once, in the order of the runs."""
        points: list[dict[str, Any]] = []
        for outcome in self.outcomes(study):
            point = {key: outcome.job.varied[key] for key in keys}
            if point not in points:
                points.append(point)
        return points

    def error(self, studies: Collection[str]) -> str | None:
        """Label and error of the first failed run of some studies; None if none failed."""
        errors = (f"{o.job.label}: {o.error}" for name, o in self._named if name in studies and o.error is not None)
        return next(errors, None)

    def any_done(self, study: str) -> bool:
        """Whether at least one run of a study has a document."""
        return any(outcome.document is not None for outcome in self.outcomes(study))

    def _matching(self, study: str, varied: Varied) -> list[Outcome]:
        return [
            outcome
            for outcome in self.outcomes(study)
            if all(outcome.job.varied.get(key) == value for key, value in varied.items())
        ]


def _workload(job: Job) -> str:
    return str(job.varied[WORKLOAD]).removeprefix("twin:")
