"""Names that users type, and the fields of a result that they mean."""

from __future__ import annotations

import pytest

import pumice
from pumice.errors import SpecError
from pumice.results.comparison import METRICS
from pumice.results.fields import fields
from pumice.results.names import _NICKNAMES, field_called, fields_called

P99 = ("host.read.latency_us.p99", "host.write.latency_us.p99")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("waf", ("write_amplification",)),
        ("WA", ("write_amplification",)),
        ("IOPS", ("host.iops", "host.service_iops")),
        ("service IOPS", ("host.service_iops",)),
        ("throughput", ("host.throughput_mib_per_s",)),
        ("read p99", P99[:1]),
        ("write_lat_p99.9", ("host.write.latency_us.p99_9",)),
        ("p999 of reads", ()),
        ("read p999", ("host.read.latency_us.p99_9",)),
        ("median write latency", ("host.write.latency_us.p50",)),
        ("p99", P99),
        ("latency", tuple(path.replace("p99", "mean") for path in P99)),
        ("aep", ("wear.aep",)),
        ("flash.erases.block", ("flash.erases.block",)),
        ("mean read write", ()),
        ("read", ()),
        ("misses", ("gc.map.misses",)),
        ("", ()),
    ],
)
def test_a_name_leads_to_its_fields(name: str, meant: tuple[str, ...]) -> None:
    assert fields_called(name) == meant


def test_every_path_nickname_and_label_leads_to_fields_that_exist() -> None:
    paths = [field.path for field in fields()]
    assert all(fields_called(path) == (path,) for path in paths)
    names = [name for names in _NICKNAMES for name in names.split("|")]
    assert len(set(names)) == len(names)
    for name in names:
        assert fields_called(name), name
        assert set(fields_called(name)) <= set(paths), name
    assert [field_called(metric.label) for metric in METRICS] == [metric.path for metric in METRICS]


def test_what_means_several_fields_or_none_is_said_in_a_line() -> None:
    result = pumice.run(pumice.preset("tiny").with_(run={"max_requests": 100}))
    assert result.value("waf") == result.write_amplification
    with pytest.raises(SpecError, match=r"^p99 can mean host\.read\.latency_us\.p99, host\.write\.latency_us\.p99$"):
        result.value("p99")
    with pytest.raises(SpecError, match=r"^field througput is unknown \(nearest: throughput\)"):
        result.value("througput")
