"""Sums and products of two floats together with what rounding loses, by Knuth and Dekker.

They need arithmetic as it is written: no reordering, no fast-math.
"""

SPLIT = 134217729.0  # 2^27 + 1
LARGE = 2.0**970  # above which splitting overflows


def two_sum(x: float, y: float) -> tuple[float, float]:
    """The rounded sum, and what rounding lost."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def two_product(x: float, y: float) -> tuple[float, float]:
    """The rounded product, and what rounding lost; 0 for the latter where it would overflow."""
    product = x * y
    if not (abs(x) < LARGE and abs(y) < LARGE and abs(product) < LARGE):
        return product, 0.0
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    lost = x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)
    return product, lost


def _halves(x: float) -> tuple[float, float]:
    """Two floats of half as many digits, whose sum is x."""
    high = SPLIT * x
    high -= high - x
    return high, x - high
