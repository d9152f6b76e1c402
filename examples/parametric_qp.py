"""
Predictive control: the plan for every position
===============================================

A cart (position, speed) is to be brought to rest at 0 by a force between -1 and 1, its speed kept
between -0.6 and 0.6.  The plan over 20 steps is a quadratic program whose vectors move with the
state.  Shown are the plan for every position from 0 to 4, and the position beyond which no plan
exists if the cart must have stopped by the end; then the cart is driven, each program traced from
the end of the one before.  One picture goes to out/.
"""

from __future__ import annotations

import sys
from pathlib import Path as File

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from homotopy import Homotopy, TraceError
from homotopy_plugins import ParametricQP

STEPS, DT, FAST = 20, 0.25, 0.6
MOVE, PUSH = np.array([[1.0, DT], [0.0, 1.0]]), np.array([0.5 * DT**2, DT])

# The states ahead are free @ state + forced @ forces, position and speed in turn.
free = np.vstack([np.linalg.matrix_power(MOVE, k + 1) for k in range(STEPS)])
forced = np.zeros((2 * STEPS, STEPS))
for k in range(STEPS):
    for j in range(k + 1):
        forced[2 * k : 2 * k + 2, j] = np.linalg.matrix_power(MOVE, k - j) @ PUSH
H = forced.T @ forced + 0.05 * np.eye(STEPS)


def program(state, stopped=False):
    """The vectors of the plan from `state`; with `stopped` it ends at rest at 0."""
    ahead = free @ state
    low, high = np.full(2 * STEPS, -np.inf), np.full(2 * STEPS, np.inf)
    low[1::2], high[1::2] = -FAST, FAST
    if stopped:
        low[-2:] = high[-2:] = 0.0
    return {
        "g": forced.T @ ahead, "lb": -np.ones(STEPS), "ub": np.ones(STEPS),
        "lbA": low - ahead, "ubA": high - ahead,
    }  # fmt: skip


def between(start, stop, **options):
    first, last = program(start, **options), program(stop, **options)
    return ParametricQP(H, A=forced, **{name: (first[name], last[name]) for name in first})


def main() -> int:
    far = 4.0
    path = Homotopy(between(np.zeros(2), np.array([far, 0.0]))).trace()
    print(path)
    print("certified:", path.certify().ok)
    for position in (0.5, 2.0, 4.0):
        held = path.model.active_rows(path, position / far)
        print(
            f"position {position:g}: first force {path.solution(position / far)[0]:+.4f}, "
            f"{held['lower'].size} rows at a lower bound, {held['upper'].size} at an upper one"
        )
    try:
        Homotopy(between(np.zeros(2), np.array([far, 0.0]), stopped=True)).trace()
        return 1
    except TraceError as error:
        end = error.path
        print(f"\nto be at rest at 0 after {STEPS} steps:\n  {error}")
        print(
            f"  that is, from position {far * end.traced[1]:.6f} on; the path up to there:\n  {end}"
        )

    state, forces, states = np.array([far, 0.0]), [], []
    model, plan = ParametricQP(H, A=forced, **program(state)), None
    points = 0
    for _ in range(40):
        model = model.following(**program(state))
        plan = Homotopy(model).trace(start=None if plan is None else model.start_at(plan))
        points += plan.breakpoints.size - 2
        forces.append(plan.solution(1.0)[0])
        states.append(state)
        state = MOVE @ state + PUSH * forces[-1]
    print(
        f"\ndriven for 40 steps: {points} break-points in 40 paths, at {state[0]:+.4f} in the end"
    )
    draw(path, far, np.array(states), np.array(forces))
    return 0 if path.certify().ok and end.certify().ok else 1


def draw(path, far, states, forces) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    t = np.unique(np.concatenate([path.breakpoints, np.linspace(0.0, 1.0, 200)]))
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 6))
    for k, shade in zip(range(0, 12, 2), shades, strict=True):
        left.plot(far * t, path.solution(t)[:, k], color=shade, label=f"step {k + 1}")
    for t_break in path.breakpoints[1:-1]:
        left.axvline(far * t_break, color="0.88", linewidth=0.6, zorder=0)
    left.set(
        xlabel="position of the cart", ylabel="planned force", title="The plan for every position"
    )
    left.legend(frameon=False, ncols=2, loc="center right", bbox_to_anchor=(1.0, 0.22))
    time = DT * np.arange(len(forces))
    right.axhline(-FAST, color="0.6", linewidth=0.8, linestyle="--")
    right.text(time[-1], -FAST + 0.04, "speed limit", color="0.4", fontsize=8, ha="right")
    right.plot(time, states[:, 0], label="position")
    right.plot(time, states[:, 1], label="speed")
    right.step(time, forces, where="post", label="force")
    right.set(xlabel="time", title="Driven from 4, each plan from the one before")
    right.legend(frameon=False)
    out = File("out")
    out.mkdir(exist_ok=True)
    figure.savefig(out / "parametric_qp.png", dpi=130)
    print(f"picture: {out / 'parametric_qp.png'}")


if __name__ == "__main__":
    sys.exit(main())
