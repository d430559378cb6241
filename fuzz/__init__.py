"""The fuzz harness of the certificate: ``python -m fuzz``.

It draws problems of all kinds, solves them, and proves with exact arithmetic that no certificate is
false. A *combination* is what one compiled kernel serves: a loss, a regularizer, a storage, a
method and so on; `draw` makes some fifty *cases* of each, all of them known by three numbers: seed,
combination, case. `exact` has P and D as rational numbers and shares no code with quartz; `check`
holds a result against them; `workers` runs it all in processes that may hang or die.
"""

from fuzz.draw import problem

__all__ = ["problem"]
