"""A device of more than 2^30 logical pages: the end of its addresses, and what it costs."""

from __future__ import annotations

import pumice

#: Planes of 150,000 blocks; few of them, so that what is written lies together and the rest takes no memory.
LARGE = {
    "geometry": {
        "channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2, "blocks_per_plane": 150_000,
        "pages_per_block": 2048, "page_bytes": 4096,
    },
    "ftl": {"kind": "page", "over_provisioning": 0.085},
    "initial": {"fill": 0.0},
}  # fmt: skip

PAGE = 4096


def test_a_device_of_more_than_a_billion_pages_keeps_its_last_ones() -> None:
    """Tags hold no version beyond 2^30 pages, so pages there have it elsewhere: both sides are written and read."""
    spec = pumice.preset("small").with_(**LARGE)
    pages = 1_124_352_000
    written = [*range(pages - 600, pages), *range(2**30 - 300, 2**30 + 300)]
    operations = [("W", lpn) for _ in range(3) for lpn in written] + [("R", lpn) for lpn in written]
    columns = {
        "time_us": [2_000 * nth for nth in range(len(operations))],
        "op": [op for op, _ in operations],
        "offset_bytes": [lpn * PAGE for _, lpn in operations],
        "size_bytes": [PAGE] * len(operations),
    }
    document = pumice.run(spec, requests=columns).to_dict()
    assert document["device"]["user_bytes"] == pages * PAGE
    assert document["run"]["requests"] == len(operations)
    # A read of a page that was never written would read nothing from flash, one of an old copy would be corrupt.
    assert document["flash"]["reads"]["host"] == len(written)
    assert document["integrity"]["corrupt_pages"] == 0
    assert document["run"]["bytes_per_page"] <= 16
