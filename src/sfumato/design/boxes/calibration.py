"""Which ε on a box: noise in closed form first, then coarse lattices, then one design on each side of the target.

The least loss L(ε) of all mechanisms on a box does not grow with ε. A design at ε proves L(ε) ≤ loss and L(ε) ≥ bound,
a few per cent apart, so that no search brings the two ends closer than that. Noise that is the same everywhere loses
about k/ε and proves a first ε that is enough within seconds. Where tables fit, their losses on coarse lattices, in
floats, say where along the curve the target is; only there the two designs are made that prove something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import exp, inf, log
from typing import Any, Literal

from sfumato.channels.prior import Prior
from sfumato.design.boxes.choice import design_on_box, noise_design, too_large
from sfumato.design.boxes.optimal import Aim, approximate_loss, silent_loss
from sfumato.design.calibration_sought import Ends, Sought, short_epsilon
from sfumato.design.objectives import Objective
from sfumato.design.optimal import Effort, design, searching
from sfumato.design.result import BoxDesign, Design
from sfumato.errors import InvalidInput, NotConverged, NotSupported
from sfumato.numbers import told_apart
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.earth import ground_stretch
from sfumato.watch import TimeIsUp, Watch

PRECISION = 0.1
"""The relative width of ε that is left open where nobody asks for another: what designs within 5 % can prove."""

_TOLERANCES = 0.005, 0.05  # the gaps that designs at both ends are asked for, at least and at most
_ROUGH = 0.1  # the tolerance of tables that only say where the target is: cells of 1/ε
_ESTIMATES = 7  # losses on coarse lattices that are looked at, at most
_TRIES = 4  # designs on a side, at most
_STEEPEST, _FLATTEST = 1.25, 0.04  # of the slope −d ln L / d ln ε: 1 for noise in a large box, 0 where little is told
_TABLE_BELOW = 0.87  # a table needs so much less ε than noise for one loss, where a box is not large
_NOISE_LOSS = 1.02  # times k/ε: what noise on a lattice loses, about
_ABOVE = 1.003  # a bound is aimed this much above the target, and a loss below it
_SHARE = 0.6  # of the time that is left, for the next stage
_ESTIMATING = 0.3  # of the time that is left, for all estimates
_FARTHEST = 1.4  # in ln ε, for one step: where the curve is flat a secant leads anywhere
_NEAREST = 0.002  # in ln ε, to one that has been looked at
_FALLS = 8  # bounds that are looked for, at most
_FIRST_FALL = 0.03  # in ln ε, from one whose bound was not enough; the next falls are twice as long, and so on


def ends_on_box(sought: Sought) -> Ends:
    """An ε that is proved to reach the target, and one that is proved to miss it if there is time for it."""
    if not sought.objective.plain:
        raise NotSupported("an objective on a box of coordinates", ["the expected loss, without limits"])
    with searching(Effort(sought.width, sought.watch, progress=sought.progress)):
        search = BoxCalibration(
            sought.prior, sought.loss, sought.space, sought.outputs, sought.target, sought.goal, sought.width,
            sought.watch, sought.progress,
        )  # fmt: skip
        ends = search.search()
    if search.missing():
        raise NotConverged(search.missing())
    return ends


def curve_on_box(
    prior: Prior | None, loss: Any, promises: list[PrivacyType], objective: Objective, tolerance: float | None,
    in_order: bool,
) -> tuple[Callable[..., Design], list[PrivacyType]]:  # fmt: skip
    """The designs of a curve as a function, and what it is asked: none for coordinates begins where another ended."""
    return partial(design, prior, loss, objective=objective, tolerance=tolerance), promises


@dataclass(eq=False)
class BoxCalibration:
    """One search for ε on a box, and the best that is proved on both sides so far.

    ``target`` is a length on the ground, ``width`` the relative width to be left open; 1 asks nothing of smaller ε.
    ``ends`` has, under True, the smallest ε whose design is proved to reach the target, and under False the largest
    whose bound is above it.
    """

    prior: Prior | None
    loss: Any
    box: Box
    outputs: Any
    target: Fraction
    goal: Literal["reach", "keep"]
    width: float
    watch: Watch
    progress: Callable[[Any], object] | None
    ends: dict[bool, tuple[Fraction, BoxDesign]] = field(default_factory=dict)
    slope: float = 1.0
    tried: list[Fraction] = field(default_factory=list)
    hurried: bool = False  # whether a stage was ended by the time

    def __post_init__(self) -> None:
        least, most = ground_stretch(self.box)
        self.stretch = float(most)  # ε on the ground over ε on the map
        self.close = min(self.width, PRECISION)  # an end is about so near to what it could be, however far the other
        # on the map: what is certainly within the target on the ground, and what is certainly beyond it
        self.within, self.beyond = self.target * least, self.target * most

    def search(self) -> dict[bool, tuple[Fraction, BoxDesign]]:
        """What is proved on both sides, when it is close enough, or when the time is up."""
        self._check_target()
        try:
            start = self._noise()
            table = short_epsilon(_TABLE_BELOW * float(start))
            if True in self.ends and self._noisy(table):
                self._noise_below()
            else:
                self._tables(table)
        except KeyboardInterrupt:
            self.watch.stop()
        except TimeIsUp:
            self.hurried = True
        except (NotConverged, NotSupported):
            if not self.ends:
                raise
        return self.ends

    def missing(self) -> str:
        """Why there is no answer, in words that are true; nothing where there is one."""
        side = next((side for side in (True, False)[: 1 + (self.goal == "keep")] if side not in self.ends), None)
        if side is None:
            return ""
        what = f"no epsilon was proved to {'reach' if side else 'keep'} the target {float(self.target):g}"
        if self.hurried and self.watch.limit is not None and not self.watch.stopped:
            return f"{what} within {self.watch.limit:g} s: give it more time"
        if not self.tried or self.watch.stopped:
            return what
        ends = " and ".join(f"{float(end):.4g}" for end in (min(self.tried), max(self.tried)))
        return f"{what} by {len(self.tried)} designs for epsilon between {ends}: they leave it open"

    # ------------------------------------------------------------- what is asked of each ε

    def _check_target(self) -> None:
        blind = silent_loss(self.prior, self.loss, PrivacyType(self.box, epsilon=1), self.outputs)
        if self.target <= 0 or float(self.beyond) >= blind:
            target, most = told_apart(self.target, Fraction(blind))
            raise InvalidInput(
                f"the target {target} must lie between 0, the loss when the truth is told, and about {most}, the loss "
                "when nothing is"
            )

    def _noisy(self, epsilon: Fraction) -> bool:
        return self.outputs is None and too_large(PrivacyType(self.box, epsilon=epsilon))

    def _tolerance(self) -> float:
        """The gap with which both ends are as close as was asked for: ε changes by more than the loss does."""
        return min(max(0.8 * self.close * self.slope, _TOLERANCES[0]), _TOLERANCES[1])

    def _open(self) -> bool:
        """Whether ends are missing or too far apart; 0 is too small for any target."""
        if True not in self.ends or (self.goal == "keep" and False not in self.ends):
            return True
        high, low = self.ends[True][0], self.ends[False][0] if False in self.ends else Fraction(0)
        return high - low > Fraction(self.width) * high

    def _stage(self) -> Watch:
        self.watch.check()
        return self.watch.share(_SHARE)

    def _told(self, epsilon: Fraction) -> Callable[[Any], object] | None:
        """Progress that says at which ε."""
        tell = self.progress
        if tell is None:
            return None
        where = f"at ε = {float(epsilon):.4g}"

        def report(state: Any) -> None:
            tell(replace(state, stage=f"{where}: {state.stage}" if state.stage else where))

        return report

    def _take(self, epsilon: Fraction, found: BoxDesign, stage: Watch) -> BoxDesign:
        """Keep what a design proves; who has stopped it has stopped the search."""
        if found.loss <= self.within and (True not in self.ends or epsilon <= self.ends[True][0]):
            self.ends[True] = epsilon, found
        if found.bound > self.beyond and (False not in self.ends or epsilon >= self.ends[False][0]):
            self.ends[False] = epsilon, found
        self.tried.append(epsilon)
        self.hurried = self.hurried or found.stopped
        return found

    def _design(self, epsilon: Fraction, aim: Aim) -> BoxDesign:
        stage, promise = self._stage(), PrivacyType(self.box, epsilon=epsilon)
        tolerance, told = self._tolerance(), self._told(epsilon)
        found = design_on_box(self.prior, self.loss, promise, self.outputs, tolerance, stage, told, aim)
        return self._take(epsilon, found, stage)

    def _same_noise(self, epsilon: Fraction) -> BoxDesign:
        stage, promise = self._stage(), PrivacyType(self.box, epsilon=epsilon)
        assert self.prior is not None
        found = noise_design(self.prior, self.loss, promise, stage, self._told(epsilon))
        return self._take(epsilon, found, stage)

    # ------------------------------------------------------------- noise that is the same everywhere

    def _noise(self) -> Fraction:
        """An ε that is enough for noise, proved, if there is such noise on this box; else about that."""
        epsilon = short_epsilon(_NOISE_LOSS * self.box.dimension / float(self.within) * _ABOVE * self.stretch)
        if self.outputs is not None:
            return epsilon
        for _ in range(_TRIES):
            try:
                found = self._same_noise(epsilon)
            except NotSupported:
                return epsilon
            part = float(found.loss / self.within)
            if part <= 1 and (part >= 1 - self.close / 8 or not self._noisy(epsilon)):
                return epsilon
            epsilon = short_epsilon(float(epsilon) * part * (1 + self.close / 32))
        return epsilon

    def _noise_below(self) -> None:
        """A smaller ε, at which the bound that goes with the noise is above the target."""
        epsilon, found = self.ends[True]
        for _ in range(_TRIES):
            part = float(found.bound / self.beyond)
            if not self._open() or part <= 0:
                return
            epsilon = short_epsilon(float(epsilon) * part / _ABOVE)
            if not self._noisy(epsilon):
                self._below(epsilon)
                return
            found = self._same_noise(epsilon)

    # ------------------------------------------------------------- tables

    def _tables(self, start: Fraction) -> None:
        """Find the place on coarse lattices, then prove both sides of it, first the one that was asked for."""
        epsilon = self._estimated(start)
        if self.goal == "reach":
            high = self._above(epsilon)
            part = float(high.bound / self.beyond) / _ABOVE if high.bound else 1 - self._tolerance()
            self._below(self._moved(epsilon, min(part, 1 / _ABOVE)))
            self._closer()
            return
        self._below(self._moved(epsilon, 1 - self._tolerance() / 2))
        if False in self.ends:  # the design that is returned: bounds are proved beside any table, and its is silent
            self._design(self.ends[False][0], Aim(bound=float(self.beyond)))
            if self._open():
                self._above(epsilon)

    def _closer(self) -> None:
        """A smaller ε that is enough, where a bound has shown that the first one was too large."""
        if len(self.ends) < 2 or not self._open():
            return
        (low, _), (high, found) = self.ends[False], self.ends[True]
        self.close /= 2
        epsilon = self._moved(high, float(found.loss / self.within) * _ABOVE)
        if low < epsilon < high:
            self._above(epsilon)

    def _moved(self, epsilon: Fraction, part: float) -> Fraction:
        """The ε at which a loss or bound is 1/part times what it is here, by the slope of the curve; never far away."""
        way = min(max(log(part) / self.slope, -_FARTHEST), _FARTHEST)
        return short_epsilon(float(epsilon) * exp(way))

    def _estimated(self, start: Fraction) -> Fraction:
        """Where tables lose just less than the target, by secants through losses in floats.

        What loses more and what loses less enclose the place, and no secant leaves them.
        """
        places: list[tuple[float, float]] = []
        goal, epsilon, fine = log(float(self.within) / _ABOVE), start, False
        inside = [-inf, inf]
        watch = self.watch.share(_ESTIMATING)
        while len(places) < _ESTIMATES and not (places and watch.over):
            if self._noisy(epsilon):
                return epsilon
            stage = watch if places else self._stage()
            value = approximate_loss(
                self.prior, self.loss, PrivacyType(self.box, epsilon=epsilon), self.outputs,
                self._tolerance() if fine else _ROUGH, stage, self._told(epsilon),
            )  # fmt: skip
            self.watch.check()
            here = log(float(epsilon)), log(value)
            if places and not fine and abs(here[0] - places[-1][0]) > 1e-6:
                self._slope(places[-1], here)
            missed = here[1] - goal
            places.append(here)
            if fine and -self.close * self.slope / 8 <= missed <= 0:
                return epsilon
            if not fine and len(places) > 1 and abs(missed) < _ROUGH * self.slope:
                fine, inside = True, [-inf, inf]  # coarse losses are above fine ones, and enclose nothing of them
            else:
                side = 0 if missed > 0 else 1
                inside[side] = (max, min)[side](inside[side], here[0])
            aimed = goal - (self.close * self.slope / 16 if fine else 0.0)
            way = here[0] + min(max((here[1] - aimed) / self.slope, -_FARTHEST), _FARTHEST)
            epsilon = short_epsilon(exp(_within(way, *inside)))
        return epsilon

    def _slope(self, one: tuple[float, float], other: tuple[float, float]) -> None:
        slope = -(other[1] - one[1]) / (other[0] - one[0])
        self.slope = min(max(slope, _FLATTEST), _STEEPEST)

    def _above(self, epsilon: Fraction) -> BoxDesign:
        """A design that reaches the target, at this ε or a little farther up."""
        aim = Aim(("lattice", "bound") if self.goal == "reach" else ("lattice",), loss=float(self.within))
        for _ in range(_TRIES):
            found = self._design(epsilon, aim)
            if found.loss <= self.within:
                break
            epsilon = self._moved(epsilon, float(found.loss / self.within) * _ABOVE)
        return found

    def _below(self, epsilon: Fraction) -> None:
        """Bounds at smaller ε until one is above the target, and about as near to it as was asked for.

        An ε whose bound was not enough is not passed again, nor one whose was: what is between them is halved where
        slopes lead out of it.
        """
        goal, missed = float(self.beyond), inf
        if True in self.ends:
            missed = log(float(self.ends[True][0]))
        for count in range(_FALLS):
            if not self._open() and (self.goal == "reach" or count):
                return
            found = self._design(epsilon, Aim(("bound",), bound=goal))
            here = log(float(epsilon))
            better = float(self._moved(epsilon, float(found.bound / self.beyond) / _ABOVE)) if found.bound else 0.0
            if found.bound > self.beyond:
                near = better <= float(epsilon) * (1 + self.close / 4)
                if near and (not self._open() or missed - here <= self.close / 2):
                    return
            else:
                missed = min(missed, here)
                better = min(better, float(epsilon) * exp(-_FIRST_FALL * 2**count))
            kept = log(float(self.ends[False][0])) if False in self.ends else -inf
            way = max(log(better) if better else -inf, here - _FARTHEST)
            epsilon = short_epsilon(exp(_within(way, kept, missed)))


def _within(way: float, low: float, high: float) -> float:
    """A place strictly between two others: the middle where it is not."""
    if low < inf and high < inf and low > -inf and not low < way < high:
        return (low + high) / 2
    return min(max(way, low + _NEAREST), high - _NEAREST)
