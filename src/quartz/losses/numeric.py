"""Option I for any scalar loss, from its gradient alone.

The new dual variable is -phi'(b) at b = prox_{q phi}(c), c = a - q alpha, which is the root of

    r(b) = b - c + q phi'(b).

r increases with a slope of at least 1, so the root lies between c and c - q phi'(c). That bracket
is divided by bisection and by the secant in turns. Where phi' jumps over the root, as at the kink
of a loss that is not smooth, the dual variable (b - c) / q lies between the two values of -phi' at
the ends of the bracket, hence always inside the domain of the conjugate.
"""

from quartz.kernels.loss import loss_gradient
from quartz.kernels.placeholder import Opaque

MOST_ROUNDS = 200  # bisections and secant steps together; a double has 64 bits


def numeric_step(loss: Opaque, alpha: float, a: float, y: float, q: float) -> float:
    """The dual variable alpha + Delta of Option I for a scalar loss, to rounding."""
    c = a - q * alpha
    slope = loss_gradient(loss, c, y)
    if q <= 0.0 or slope == 0.0:
        return -slope
    # The root lies between c and c - q slope; that may be far away, or infinite, where phi' grows
    # fast, so the bracket grows from c until the residual changes its sign.
    reach, width = abs(q * slope), min(abs(q * slope), 1.0 + abs(c))
    sign = -1.0 if slope > 0.0 else 1.0
    near, at_near, far = c, slope, c + sign * width
    at_far = loss_gradient(loss, far, y)
    while width < reach and sign * (far - c + q * at_far) < 0.0:
        near, at_near = far, at_far
        width = min(4.0 * width, reach)
        far = c + sign * width
        at_far = loss_gradient(loss, far, y)
    low, below, high, above = near, at_near, far, at_far
    if sign < 0.0:
        low, below, high, above = far, at_far, near, at_near
    residual_low, residual_high = low - c + q * below, high - c + q * above
    for k in range(MOST_ROUNDS):
        b = 0.5 * (low + high)
        if k % 2 and residual_low < 0.0 < residual_high:
            secant = low - residual_low * ((high - low) / (residual_high - residual_low))
            b = secant if low < secant < high else b
        if not low < b < high:
            break
        slope = loss_gradient(loss, b, y)
        residual = b - c + q * slope
        if residual == 0.0:
            return -slope
        if residual < 0.0:
            low, below, residual_low = b, slope, residual
        else:
            high, above, residual_high = b, slope, residual
    middle = (0.5 * (low + high) - c) / q
    return min(max(middle, -above), -below)
