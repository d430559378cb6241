"""Algorithm 1 of the paper, line by line in NumPy: the oracle for every faster solver.

    for t = 1, 2, ...
        w^t = (1 - theta) w^{t-1} + theta grad g*(abar^{t-1})                      [eq:98h9s8h00]
        for i in S_t
            Option I   Delta_i = argmax -phi_i*(-(alpha_i + Delta)) - z' A_i Delta
                                        - v_i ||Delta||^2 / (2 lam n),   z = grad g*(abar^{t-1})
            Option II  Delta_i = -(theta / p_i) (alpha_i + grad phi_i(A_i' w^t))
            alpha_i^t = alpha_i^{t-1} + Delta_i
        abar^t = abar^{t-1} + 1/(lam n) sum_{i in S_t} A_i Delta_i

See [algo:primaldual].
"""

from quartz.arrays import quietly
from quartz.methods.plan import Plan
from quartz.methods.state import State
from quartz.samplings import IndexSets


@quietly
def advance(state: State, plan: Plan, sets: IndexSets) -> None:
    """Do one iteration for each index set. All of a set see the same z and w."""
    problem, data = plan.problem, plan.problem.data
    p, scale = plan.p, problem.lam * problem.n
    shift = problem.intercept.shift(state.carried)
    for t in range(len(sets)):
        z = problem.conjugate_point(state.abar)
        state.w = (1 - plan.primal_step) * state.w + plan.primal_step * z
        updates = []
        for i in sets[t]:
            old = state.duals[i]
            if plan.option == 1:
                a = data.predict_one(i, z) + shift
                new = problem.losses.step_one(i, old, a, plan.v[i] / scale)
            else:
                gradient = problem.losses.gradient_one(i, data.predict_one(i, state.w) + shift)
                new = old - plan.theta / p[i] * (old + gradient)
            updates.append((i, new, new - old))
        for i, new, change in updates:
            state.duals[i] = new
            data.accumulate(i, change / scale, state.abar)
        state.iteration += 1
        state.visited += len(updates)
