"""Seconds to draw index sets at n = 10^6: best of seven. Run: python -m benchmarks.draws."""

import numpy as np

from benchmarks.timing import best_of
from quartz import samplings

N = 1_000_000


def main():
    rng = np.random.default_rng(0)
    p = rng.random(N) + 0.01
    rows = [
        ("serial, any p", samplings.Serial(p / p.sum()), 1_000_000),
        ("100-nice", samplings.NiceSampling(N, 100), 10_000),
        ("independent, 100 expected", samplings.Independent(np.full(N, 1e-4)), 10_000),
        ("bucket, 100", samplings.BucketSampling(np.arange(N) % 100, np.full(N, 100 / N)), 10_000),
        ("distributed, 10 x 10", samplings.DistributedSampling(np.arange(N) * 10 // N, 10), 10_000),
    ]
    for name, sampling, k in rows:
        seconds = best_of(lambda s=sampling, k=k: s.draw(rng, k))
        print(f"{name:28} {k:>9,} sets  {seconds:.3f} s")


if __name__ == "__main__":
    main()
