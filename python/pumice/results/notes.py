"""What a reader of a result should know before drawing conclusions from it: one line each, from the result's fields.

A note is a function of the document that returns its line, or None where there is nothing to say. `@note` registers
it; the notes are given in the order in which they stand here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pumice.results.document import lookup, names_of, number
from pumice.text import count

Document = Mapping[str, Any]
Note = Callable[[Document], str | None]

#: Every note, by name.
NOTES: dict[str, Note] = {}

#: Fewest requests beyond a percentile for it to be more than a few single requests.
TAIL_SAMPLES = 100

#: Percentiles of the document, with the share of requests beyond them.
_BEYOND = {"p90": 0.1, "p99": 0.01, "p99_9": 1e-3, "p99_99": 1e-4, "p99_9999": 1e-6}

#: Dies for each page of a request from which on its pages seldom share one. Chosen.
_DIES_FOR_A_PAGE = 4

#: Suspensions for each erase below which suspension hardly did anything.
_HARDLY = 0.05

#: Results that a note names, and lines of one note that are told; of more there is the number.
_NAMED, _LINES = 4, 2

#: Parts of a document that say what happened, to host and flash.
_SIMULATED = ("host", "flash", "gc", "wear")

#: Bytes of a sector, the least that a host asks a disk for.
_SECTOR_BYTES = 512

#: Share of the erases met by a read from which a lack of reads is no reason for few suspensions.
_MET = 0.2


def note(function: Note) -> Note:
    """Registers a note."""
    NOTES[function.__name__] = function
    return function


def notes_of(document: Document) -> list[str]:
    """The lines of all notes that apply to a result."""
    return [line for one in NOTES.values() if (line := one(document)) is not None]


def notes_of_all(named: Iterable[tuple[str, Document]]) -> list[str]:
    """Each note once over several results, led by the names of those that it applies to if not all do. Of a note whose
    numbers differ from result to result, the first few are told, and how many more there are.

    Args:
        named: results with their names; an empty name takes part and is not told.
    """
    results = list(named)
    found: list[str] = []
    for one in NOTES.values():
        of: dict[str, list[str]] = {}
        for name, document in results:
            if (line := one(document)) is not None:
                of.setdefault(line, []).append(name)
        lines = [_led(line, own, [name for name, _ in results]) for line, own in of.items()]
        if len(lines) <= _LINES:
            found += lines
        else:
            names = list(dict.fromkeys(name for own in list(of.values())[1:] for name in own))
            others = "; ".join(names) if len(names) <= _NAMED else f"{len(names)} more of {len(results)}"
            found.append(f"{lines[0]}. Likewise, with other numbers: {others}")
    return found


def notes_of_seeds(groups: Iterable[tuple[str, Sequence[Document]]]) -> list[str]:
    """What the seeds of a run say of chance: a line if they change nothing, as under a recorded trace, because the
    interval of the mean is then 0 for another reason than that the mean is sure.

    Args:
        groups: the results of each run over its seeds, with the run's name.
    """
    named = list(groups)
    same = [name for name, documents in named if len(documents) > 1 and _are_the_same(documents)]
    if not same:
        return []
    line = (
        "every seed gave the same run, because nothing in it is random: ± 0 is not a confidence interval, and one run"
        " is enough"
    )
    return [_led(line, same, [name for name, _ in named])]


def notes_of_reserves(named: Iterable[tuple[str, Document]]) -> list[str]:
    """A line if a plug-in is compared with another layer that leaves the host another part of the same flash: what
    collection has to do depends on the spare pages before it depends on the layer.

    Args:
        named: results with their names.
    """
    results = [(name, document, number(document, "device.spare_over_raw")) for name, document in named]
    if not any(document.get("plugin") for _, document, _ in results):
        return []
    found: dict[tuple[str, str], list[str]] = {}
    for name, document, spare in results:
        if spare is not None:
            # Who varies the over-provisioning knows that the reserve differs.
            asked = f"{number(document, 'device.pages')} {number(document, 'config.ftl.over_provisioning')}"
            found.setdefault((asked, f"{100 * spare:.1f} %"), []).append(name)
    devices = [asked for asked, _ in found]
    unlike = {spare: names for (asked, spare), names in found.items() if devices.count(asked) > 1}
    if not unlike:
        return []
    told = "; ".join(f"{spare} under {', '.join(names[:_NAMED])}" for spare, names in unlike.items())
    return [
        f"the layers do not keep the same reserve: spare pages over all pages are {told}. Ratios include this"
        " difference; set the layers' keys until device.spare_over_raw is the same"
    ]


def _are_the_same(documents: Sequence[Document]) -> bool:
    found = {json.dumps([document.get(part) for part in _SIMULATED], sort_keys=True) for document in documents}
    return len(found) == 1


def _led(line: str, names: list[str], every: list[str]) -> str:
    """A line, led by the names that it applies to if not all do."""
    if len(names) == len(every):
        return line
    told = names_of(names, every)
    return f"{told if told.count('; ') < _NAMED else f'{len(names)} of {len(every)}'}: {line}"


@note
def saturated(document: Document) -> str | None:
    """An open loop that offers more than the device serves."""
    if not any(str(warning).startswith("saturated:") for warning in document.get("warnings") or []):
        return None
    dies = [share for share in lookup(document, "utilisation.die") or [] if share is not None]
    busy = f" (its busiest die was held {100 * max(dies):.0f} % of the time)" if dies else ""
    return (
        f"the open loop is saturated: requests arrive faster than the device serves them{busy}, so latencies"
        " measure the growing queue, not the device. Compare host.service_iops, slow the arrivals (host.speedup below 1"
        ' for a trace), or set host.mode = "closed-loop"'
    )


@note
def ended_early(document: Document) -> str | None:
    """A run that ended because it knew enough."""
    requests, half_width = number(document, "until.requests"), number(document, "until.half_width")
    if lookup(document, "until.outcome") != "reached" or requests is None or half_width is None:
        return None
    return (
        f"the run ended after {requests:,.0f} measured requests, because it reached the requested precision"
        f' (run.until = "{lookup(document, "until.wanted")}"): to ± {100 * half_width:.2f} % at a confidence of 95 %'
    )


@note
def writes_end_in_the_buffer(document: Document) -> str | None:
    """Writes that were all done when the write buffer had them."""
    kib = number(document, "config.host.write_buffer_kib") or 0
    writes = number(document, "host.write.requests") or 0
    mean = number(document, "host.write.latency_us.mean")
    parts = lookup(document, "write_latency_breakdown_us") or {}
    if not kib or not writes or mean is None or any(us for part, us in parts.items() if part != "link"):
        return None
    shown = "0" if not mean else f"that of the link, {mean:,.1f} µs on average"
    return (
        f"all {writes:,.0f} writes were done in the write buffer (host.write_buffer_kib = {kib:.0f}), so their"
        f" latency is {shown}, and does not depend on the flash: write more than the buffer holds, or set"
        " host.write_buffer_kib = 0"
    )


@note
def few_tail_samples(document: Document) -> str | None:
    """Percentiles beyond which there are few requests."""
    parts: list[str] = []
    for kind in ("read", "write"):
        requests = number(document, f"host.{kind}.requests") or 0
        if number(document, f"host.{kind}.latency_us.mean") is None:
            continue
        for name, beyond in _BEYOND.items():
            if requests * beyond < TAIL_SAMPLES and number(document, f"host.{kind}.latency_us.{name}") is not None:
                samples = int(requests * beyond)
                behind = count(samples, "request") if samples else "less than one request"
                parts.append(f"{kind} {name.replace('_', '.', 1)} comes from {behind}")
                break
    if not parts:
        return None
    return f"few samples: {', '.join(parts)}; run more before quoting {'it' if len(parts) == 1 else 'them'}"


@note
def scaled_tails(document: Document) -> str | None:
    """Tails of requests whose pages share the few dies of a device that was scaled."""
    dies = len(lookup(document, "utilisation.die") or [])
    page_bytes = number(document, "config.geometry.page_bytes")
    if (number(document, "scale") or 1.0) >= 1.0 or not dies or not page_bytes:
        return None
    parts: list[str] = []
    for kind in ("read", "write"):
        requests, moved = (number(document, f"host.{kind}.{what}") for what in ("requests", "bytes"))
        pages = moved / requests / page_bytes if requests and moved else 0.0
        if pages > 1.0 and dies < _DIES_FOR_A_PAGE * pages:
            parts.append(f"a {kind} {pages:.1f}")
    if not parts or number(document, "host.read.latency_us.mean") is None:
        return None
    return (
        f"scale {document['scale']:g} leaves {count(dies, 'die')}, and on average {', '.join(parts)} pages: a request"
        " waits for the last of its pages, and pages that share a die share its queue and its erases. So p99 and beyond"
        " are not those of the whole device; write amplification and wear are. Quote tails from a larger scale"
    )


@note
def idle_suspension(document: Document) -> str | None:
    """A rule of suspension that hardly ever suspended an erase, and why."""
    rule = lookup(document, "config.erase.suspension")
    suspensions = number(document, "flash.suspensions")
    if rule in (None, "off") or suspensions is None:
        return None
    erases = sum(number(document, f"flash.erases.{unit}") or 0 for unit in ("block", "partial", "sub_block"))
    if erases and suspensions >= _HARDLY * erases:
        return None
    reads = number(document, "flash.reads.host") or 0
    said = f'erase.suspension = "{rule}" hardly mattered: {suspensions:,.0f} suspensions of {erases:,.0f} erases'
    if lookup(document, "config.host.read_priority") is False:
        return f"{said}; without host.read_priority = true no read overtakes an erase"
    if not erases:
        return f"{said}; nothing was erased while measuring"
    if not reads:
        return f"{said}; no host read reached the flash"
    met, share = _reads_that_meet_an_erase(document, erases, reads)
    if met is None or share is None:
        return said
    facts = f"a die erased {100 * share:.2g} % of the time, so about {met:,.0f} of {reads:,.0f} page reads met an erase"
    why = "reads seldom meet one" if met < _MET * erases else "most of those reads came where the rule allows none"
    return f"{said}; {facts} if they are spread evenly: {why}"


def _reads_that_meet_an_erase(document: Document, erases: float, reads: float) -> tuple[float | None, float | None]:
    """How many page reads come while their die erases, were they spread evenly, and the share of time it erases."""
    mean_us = number(document, "wear.mean_erase_latency_us")
    simulated_s = number(document, "host.simulated_s")
    shape = [number(document, f"device.{part}") for part in ("channels", "chips_per_channel", "dies_per_chip")]
    if not mean_us or not simulated_s or None in shape:
        return None, None
    dies = 1.0
    for part in shape:
        dies *= part or 1.0
    share = min(erases * mean_us / (dies * simulated_s * 1e6), 1.0)
    return reads * share, share


@note
def nothing_reclaimed(document: Document) -> str | None:
    """A run with writes that ended before space had to be reclaimed."""
    written = number(document, "flash.programs.host") or 0
    reclaimed = number(document, "gc.reclaimed_blocks") or 0
    if not written or number(document, "gc.invocations") != 0 or reclaimed:
        return None
    aged = number(document, "config.initial.age_writes")
    remedy = f"age it by more than initial.age_writes = {aged:g}" if aged else "set initial.fill and initial.age_writes"
    return (
        "space was never reclaimed: the run shows a device with free blocks, not one in its steady state;"
        f" {remedy}, or write more"
    )


def _is_aged_by_pages(document: Document) -> bool:
    """Whether uniform writes of single pages aged the device."""
    aged_by = lookup(document, "config.initial.aged_by")
    return aged_by in ("pages", "drawn") and bool(number(document, "config.initial.age_writes"))


@note
def aged_by_other_writes(document: Document) -> str | None:
    """A device with static allocation, aged by writes of one page, whose requests write several."""
    if not _is_aged_by_pages(document):
        return None
    if lookup(document, "config.ftl.kind") != "page" or lookup(document, "config.ftl.allocation") != "static":
        return None
    writes, bytes_written = number(document, "host.write.requests"), number(document, "host.write.bytes")
    page_bytes = number(document, "config.geometry.page_bytes")
    if not writes or not bytes_written or not page_bytes or bytes_written <= writes * page_bytes:
        return None
    return (
        f"the device was aged by writes of one page, and requests write {bytes_written / writes / page_bytes:,.1f} on"
        ' average: with ftl.allocation = "static" it may stay in a state that the requests alone would not reach,'
        ' and run.until = "steady" cannot see this. initial.aged_by = "requests" ages it by the workload\'s own writes'
    )


@note
def amplification_of_the_ageing(document: Document) -> str | None:
    """A device aged by uniform writes, of which a workload of another kind has written little anew."""
    if not _is_aged_by_pages(document) or lookup(document, "config.workload.kind") in ("uniform", "permutation"):
        return None
    written, user_bytes = number(document, "host.write.bytes"), number(document, "device.user_bytes")
    if not written or not user_bytes or 2 * written > user_bytes:
        return None
    return (
        f"the workload wrote {100 * written / user_bytes:.2g} % of the user capacity anew: write amplification is"
        " mostly that of the ageing, which writes single pages anywhere. Write more, or age"
        ' by the workload\'s own writes (initial.aged_by = "requests")'
    )


@note
def beyond_requirement(document: Document) -> str | None:
    """Blocks that are used beyond the errors that the spec's requirement allows, or a device that ended for them."""
    state = lookup(document, "life.state")
    if state == "read-only":
        worn, left = number(document, "life.worn_blocks") or 0, number(document, "life.spare_left") or 0
        return (
            f"the device became read-only with request {number(document, 'life.end_request') or 0:,.0f}:"
            f" {worn:,.0f} blocks are retired, {100 * left:.1f} % of the raw pages are left as spare; what came later"
            " was not simulated"
        )
    bits, allowed = number(document, "wear.m_rber"), number(document, "config.erase.rber_requirement")
    if state is not None or bits is None or allowed is None or bits <= allowed:
        return None
    return (
        f"blocks have {bits:.0f} raw bit errors per KiB after a year, and erase.rber_requirement allows {allowed:.0f}:"
        ' the device is past its end of life; erase.worn_blocks = "retired-by-errors" lets it end'
    )


@note
def another_calendar(document: Document) -> str | None:
    """A trace whose format was told by its content, and whose times say that it is perhaps another."""
    unlikely = any("the format's calendar" in str(warning) for warning in document.get("warnings") or [])
    if not unlikely or lookup(document, "config.workload.format") or lookup(document, "config.workload.columns"):
        return None
    return (
        f"the trace was recognised as {lookup(document, 'workload.format')} by its content, but has times that are not"
        " dates of that format: its columns and units may differ. `pumice trace check FILE` shows how it is read;"
        " workload.format or workload.columns sets it"
    )


@note
def less_than_a_sector(document: Document) -> str | None:
    """A recorded trace whose requests are smaller than a sector, as if its sizes were sectors read as bytes."""
    if lookup(document, "workload.path") is None:
        return None
    requests = bytes_moved = 0.0
    for kind in ("read", "write"):
        requests += number(document, f"host.{kind}.requests") or 0
        bytes_moved += number(document, f"host.{kind}.bytes") or 0
    if not requests or bytes_moved / requests >= _SECTOR_BYTES:
        return None
    return (
        f"the trace's requests have {bytes_moved / requests:,.1f} bytes on average, less than a sector: if its sizes"
        " count sectors, give the unit in workload.columns, as in size=3:sectors"
    )


@note
def times_unused(document: Document) -> str | None:
    """A recorded trace with times, replayed by a host that waits for completions."""
    if lookup(document, "workload.path") is None or lookup(document, "config.host.mode") != "closed-loop":
        return None
    if lookup(document, "config.run.timed") is False or "time=" not in str(
        lookup(document, "workload.columns") or "time="
    ):
        return None
    depth = number(document, "config.host.queue_depth") or 1
    return (
        f'the times of the trace are not used: host.mode = "closed-loop" keeps {count(int(depth), "request")}'
        ' under way; host.mode = "open-loop" replays the arrivals'
    )


@note
def units_assumed(document: Document) -> str | None:
    """Columns that are given by number, without a unit: bytes are assumed."""
    given = str(lookup(document, "config.workload.columns") or "")
    bare = [part for part in given.split(",") if part.startswith(("offset=", "size=")) and ":" not in part]
    told = str(lookup(document, "workload.columns") or "").split(",")
    assumed = [
        part for part in bare if any(one.startswith(part.partition("=")[0]) and one.endswith(":bytes") for one in told)
    ]
    if not assumed:
        return None
    return (
        f"read as bytes, because workload.columns names no unit: {' and '.join(assumed)}; {assumed[0]}:sectors would"
        f" mean 512 bytes each, {assumed[0]}:bytes confirms bytes"
    )


@note
def spare_kept_free(document: Document) -> str | None:
    """Over-provisioning of which most is kept free by the start threshold of collection."""
    over, kept = (number(document, f"config.ftl.{key}") or 0 for key in ("over_provisioning", "gc_free_threshold"))
    if lookup(document, "config.ftl.kind") != "page" or not number(document, "gc.invocations") or kept <= over / 2:
        return None
    return (
        f"collection keeps {100 * kept:.3g} % of the blocks free (ftl.gc_free_threshold), of the {100 * over:.3g} %"
        " that ftl.over_provisioning leaves: little spare space is left to lower write amplification"
        f" ({number(document, 'write_amplification') or 0:.3g}); lower ftl.gc_free_threshold, to {over / 10:.2g} or so"
    )


@note
def corrupt(document: Document) -> str | None:
    """Pages that returned what the host did not write."""
    pages = number(document, "integrity.corrupt_pages") or 0
    lost = number(document, "integrity.lost_pages") or 0
    if not pages and not lost:
        return None
    return (
        f"the device returned wrong data: {pages:,.0f} logical pages corrupt, {lost:,.0f} lost; its translation layer"
        " or its partial erases destroyed them"
    )
