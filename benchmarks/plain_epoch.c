/* What one would write in C: shuffle, then one coordinate step for each row. Squared hinge, L2,
   gamma = 1, inverse = 1 / (lam n). Compiled by benchmarks/plain_c.py with -O3 -march=native. */
#include <stdint.h>

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

void epoch(int n, int *order, const int *starts, const int *columns, const double *values,
           const double *y, const double *v, double *alpha, double *w, double inverse,
           uint64_t seed) {
    for (int k = n - 1; k > 0; k--) {
        int other = (int)(((next(&seed) >> 32) * (uint64_t)(k + 1)) >> 32), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
    for (int k = 0; k < n; k++) {
        int i = order[k];
        double a = 0;
        for (int t = starts[i]; t < starts[i + 1]; t++) a += values[t] * w[columns[t]];
        double q = v[i] * inverse;
        double b = (1 - y[i] * a + q * y[i] * alpha[i]) / (1 + q);
        double change = y[i] * (b > 0 ? b : 0) - alpha[i];
        if (change != 0) {
            alpha[i] += change;
            for (int t = starts[i]; t < starts[i + 1]; t++)
                w[columns[t]] += values[t] * change * inverse;
        }
    }
}
