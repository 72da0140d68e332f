"""The cost-benefit victim policy of the Sprite file system's cleaner (Rosenblum and Ousterhout, 1992), as a policy of
one's own. It gives the result of the built-in `ftl.gc_policy = "cost-benefit"`, digit by digit:

    python cost_benefit.py [PRESET]
"""

import sys

import numpy as np

import pumice


class CostBenefit:
    """Reclaims the block with the largest age × (1 − u) / 2u, u being the share of its valid pages."""

    def __init__(self, device: pumice.policy.Device) -> None:
        valid = np.arange(1, device.pages_per_block + 1)
        gain = (device.pages_per_block - valid) / (2.0 * valid)
        # Equal scores go to the fuller block. Scores of different worth differ by more than that.
        gain *= 1.0 + 1e-15 * valid
        # A block without a valid page costs nothing: it goes first, whatever its age.
        self.gain = np.concatenate([[1e300], gain])
        self.scores = np.empty_like(self.gain)

    def victim(self, plane: pumice.policy.Plane) -> int:
        # Of the blocks with equally many valid pages the oldest has the largest score.
        np.multiply(plane.age, self.gain, self.scores)
        return plane.oldest[self.scores.argmax()]


if __name__ == "__main__":
    spec = pumice.preset(sys.argv[1] if len(sys.argv) > 1 else "tiny")
    spec = spec.with_(ftl={"kind": "page", "merge": "block-erase", "over_provisioning": 0.2})
    own = pumice.run(spec, policy=pumice.policy.of_class(CostBenefit)).to_dict()
    built_in = pumice.run(spec.with_(ftl={"gc_policy": "cost-benefit"})).to_dict()
    for name, result in (("own", own), ("built in", built_in)):
        print(f"{name:9} {result['gc']['copied_pages']:>9,} pages copied, {result['run']['wall_s']:.2f} s")
