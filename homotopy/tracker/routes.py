"""The polylines of a route, and the pull of the slopes that move along it."""

from __future__ import annotations

import numpy as np

from homotopy.tracker.crossing import set_across, set_along
from homotopy.tracker.memory import Memory
from homotopy.tracker.validity import system_changed

__all__ = ["Routes"]


class Routes(Memory):
    """Sets polylines and routes."""

    def reset_pull(self) -> None:
        """Recompute the pull of the moving slopes: those that no longer move have left rounding."""
        system, status, slope = self.system, self.coords.status, self.model_polylines.slope
        j = self.piece // 2
        flat = (self.piece % 2 == 0) & (slope.bend[self._every, j] == 0.0)
        for name, rate in (
            ("along", np.where(flat, slope.rate[self._every, j], 0.0)),
            ("across", np.where(flat, self.lift, 0.0)),
        ):
            moving = np.flatnonzero(rate)
            pull = getattr(self.motion, name)
            if self._phi is None:
                pull[:] = self.gram.combine(moving, rate[moving])
                square = float(rate[moving] @ pull[moving])
            else:
                pull[:] = 0.0
                pull[: self._phi.shape[1]] = self._phi[moving].T @ rate[moving]
                square = float(pull @ pull)
            mass = float(np.abs(rate[moving]) @ self.coords.fence.root[moving])
            setattr(system, f"square_{name}", square)
            setattr(system, f"mass_{name}", mass)
            self.column[name][:] = self.border[moving].T @ rate[moving]
            if name == "along":
                status.rate_in_pull[:], system.pull_mass = rate, mass
        status.touched[:] = 0
        self.event.touched = 0
        self.note(system_changed)

    def head_along(self, t: float, *, pin: bool = False) -> None:
        """Set the route along the path, at t."""
        self.route.t = t
        self.note(set_along, pin)
        self.reset_pull()

    def head_across(self, mu: float) -> None:
        """Set the route at fixed t, at `mu` on its way from 1 to 0."""
        self.note(set_across, mu)
