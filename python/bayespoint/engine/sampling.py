"""How :class:`VersionSpace` plays the billiard: settings, the run, its result; as a mixin."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from bayespoint import _core
from bayespoint.base import linalg, memory, validation
from bayespoint.base.linalg import Factor, factorize
from bayespoint.base.validation import Floats, Labels, RandomState
from bayespoint.base.warnings import warn
from bayespoint.engine import continuation, distributed
from bayespoint.engine import settings as engine_settings
from bayespoint.engine.pairs import too_few_pairs
from bayespoint.kernels import sources
from bayespoint.results import BilliardResult

_FEW_SINGLES = 2000
"""Examples up to which a factor in doubles beside a matrix of singles is no matter."""


class SamplingMixin:
    """The method of a version space that plays the billiard."""

    gram: sources.Gram
    y: Labels
    softness: Floats
    offset: float
    _known_inverse: tuple[Factor, Floats] | None
    _source: tuple[Any, Any]

    def margins(self, dual_coef: ArrayLike) -> Floats:
        """Return the margins of a weight vector."""
        raise NotImplementedError

    def _refuse_conflicts(self) -> None:
        raise NotImplementedError

    def sample(
        self,
        *,
        n_trajectories: int = 4,
        n_draws: int = 100,
        length: float | None = None,
        tol: float | None = None,
        max_bounces: int | None = None,
        dynamics: str = "geodesic",
        scattering: str = "specular",
        scatterer: float | str | None = None,
        tau_max: float | None = None,
        weight_tol: float | None = None,
        transparency: float | tuple[float, float] = 0.0,
        refresh: str | None = "auto",
        refresh_rate: float | str = "auto",
        start: ArrayLike | None = None,
        average: str = "auto",
        continue_from: BilliardResult | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = continuation.EVERY,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        callback: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> BilliardResult:
        r"""Play billiards in version space.

        A ball flies along great circles and is reflected at the planes. Its path fills version
        space uniformly: the mean position is the center of mass, and points at equal spacing
        along the path are (correlated) draws from the uniform law.

        Parameters
        ----------
        n_trajectories : int, default=4
            Balls that play independently of one another.
        n_draws : int, default=100
            Draws to keep of each trajectory.
        length : float, default=None
            Path length at which to stop, in radians per trajectory, at least 1e-6.
        tol : float, default=None
            Estimated angular error of the center at which to stop, in radians, once the halves of
            all trajectories agree as far as their pieces let expect: before that no error is to be
            trusted. (Those of "flipper" never need to: each restarts at a center of its own.) If
            `length`, `tol`, `max_bounces` and `weight_tol` are all None, `tol` is 0.1.
        max_bounces : int, default=None
            Arrivals at walls, reflected or not, of one trajectory; the first to get there ends the
            run. With `tol` or `weight_tol` alone it is 10 000 000. The run ends at whichever limit
            is met first.
        dynamics : {"geodesic", "chord", "flipper"}, default="geodesic"
            "geodesic": great circles with exact reflections. The other two are those of the
            papers, for comparison: straight flights, which may escape and then are launched anew
            in a random direction, at O(m^2). They visit the bounce points of a great circle until
            they do, less than pi radians further, but do not fill version space uniformly: their
            centers are biased (see Notes). "chord": Algorithm 1 of Herbrich, Graepel and
            Campbell: back to the sphere at every wall, new directions on the spot. "flipper":
            Algorithm 18.1 of Ruján and Marchand: on in the cone, restarts at the running center.
        scattering : {"specular", "cosine"}, default="specular"
            Only with "geodesic": how a wall throws the ball back. "specular": as a mirror does.
            "cosine": in a random direction, by Lambert's law, wherever the ball came from, at
            O(m^2) a bounce and for a factor of the Gram matrix. Both leave the uniform law as it
            is.
        scatterer : float or "auto", default=None
            Only with "geodesic" and opaque walls: radius in radians, at least 1e-6, of a reflecting
            sphere around the center, which is estimated first and then fixed. It must lie inside
            version space. "auto" is half of the distance to the nearest wall. Whenever the ball
            meets the sphere, its way straight through is counted too, so that center and draws
            are those of version space with the sphere filled in. At O(m^2) each time, and for a
            factor of the Gram matrix.
        tau_max : float, default=None
            Only with "chord" and "flipper": flight time, above 0, from which a flight counts as
            escaped, where a time of 1 is as far as the unit direction is long. None is 1e6 for
            "chord" and infinity for "flipper". Values near 1 or below magnify rounding if the Gram
            matrix is singular and has more than 2000 rows or computes them on demand (where it is
            smaller, dual coefficients are found anew): look at `drift`.
        weight_tol : float, default=None
            Only with "chord": TOL of its Algorithm 1, in (0, 1). The run ends once the share of
            the next flight in the center of one trajectory can be no larger.
        transparency : float or pair of floats, default=0.0
            Probability in [0, 1] that a plane lets the ball through to its violated side; a pair
            is for examples labeled -1 and for those labeled +1. Then the law is uniform times
            the product of the transparencies of all violated planes: the posterior under label
            noise of rate :math:`\epsilon` at :math:`\epsilon / (1 - \epsilon)`.
        refresh : {"auto", "pair", "full", None}, default="auto"
            How directions change in mid-air. A billiard alone can be caught in part of version
            space. "pair": reflections in the plane of two examples, at two rows of the Gram
            matrix each, which hardly turn what few planes close, as the many directions in which
            the feature vectors of a smooth kernel are thin: draws then stay too near to the middle.
            "full": an independent direction, at the price of a factor of the Gram matrix, with m
            rows and a column for each dimension. It leaves the part of the direction as it is in
            which no example has more than 1e-9 of its squared length, beyond 30 examples, or 1e-4
            in a matrix of singles. "auto": the latter where that factor takes no more than half a
            second, at up to 2400 examples in any number of dimensions, 480 dimensions of 20000
            examples, 280 of 60000; otherwise the former. None: never.
        refresh_rate : float or "auto", default="auto"
            Changes per radian, positive, at most 1e9: a number only with "pair" or "full". "auto"
            is 0.1 with full ones, but 0.3 for up to 30 examples or where some planes are nearly
            orthogonal to all others, unless average is "conditional"; with pairs a twentieth of the
            bounces, or 1.5 times as many as bounces with softness, where some planes are nearly
            orthogonal to all others, or where "auto" found too many dimensions.
        start : array-like of shape (m,), default=None
            Dual coefficients of the point all trajectories start from. Behind opaque walls it
            must lie in version space. None looks for one.
        average : {"auto", "arc", "impulse", "conditional", "midpoints", "bounces"}, default="auto"
            Which estimate `center` holds. "arc": the integral over the path. "impulse", only with
            "geodesic": the accumulated impulses on the walls, zero for examples that do not bound
            version space, and less accurate: changes of direction in mid-air add noise, so that it
            takes a path many times as long to the same `tol`. "conditional", only with "geodesic"
            and a Gram matrix far from singular: the integral of conditional means, with far less
            noise (see
            Notes). It takes a factor of the matrix, at O(m^3) operations and the memory of a second
            matrix, which refresh="auto" then uses for fresh directions. "midpoints", only with
            "chord" and "flipper": those of all flights, added on the sphere by the rule of the
            paper. "bounces", only with "flipper": the bouncing points, of equal weight. "auto" is
            "midpoints" with "chord" and "flipper"; with "geodesic" it is "conditional" where
            softness is positive for all examples, the matrix is one of doubles (or of up to 2000
            examples in singles) and far from singular, `refresh` is "auto" or "full", and nothing
            scatters the ball; else "arc". The result has the "arc" center (or the "conditional"
            one in its place) and the "impulse" center if there is one, in any case.
        continue_from : BilliardResult, default=None
            A run on this version space to go on with. `length`, `tol`, `max_bounces` and
            `weight_tol` are the new ends of the whole, what is behind counted; the other settings
            are those of the run, and left out here. To a smaller `tol` the result is, bit by bit,
            that of one run with it. To a larger `length` it does not matter in how many steps; the
            pieces and draws stay laid out for the first length, and get longer and sparser in
            powers of two.
        checkpoint : str or path-like, default=None
            A file to keep the run in. If it is there, the run goes on from it, on any number of
            threads, and comes out with the bits of one that was never interrupted. It must be of
            the same problem and the same settings. When the run is over it holds its end: the next
            call with the same settings returns the same result without flying. Written in one
            step: whoever is killed leaves the old file or the new one. It is 2 `n_draws` m doubles
            for each trajectory, and some dozens for each example, and only one run may write to it.
        every : float, default=60.0
            Seconds between two states in the `checkpoint`, at least 0.
        n_jobs : int, default=None
            Threads, as joblib counts them: None is 1, -1 all processors. It does not change the
            result.
        random_state : None, int, Generator or RandomState, default=None
            Seed. None asks NumPy's global generator. With `continue_from` it is that of the run
            which goes on, and nobody is asked.
        callback : callable, default=None
            Called about ten times a second, on the calling thread, with a mapping of ``length``,
            ``bounces`` and ``center_error`` so far. What it raises ends the run.

        Returns
        -------
        BilliardResult
            Centers, draws and diagnostics.

        Raises
        ------
        InfeasibleError
            If version space is empty, or no point of it was found.
        ValueError
            If a setting is out of range, does not belong to the `dynamics` ("chord" and "flipper"
            have no transparency and no refresh), or `start` is outside version space. If
            `continue_from` or the `checkpoint` is of another problem or has other settings, or the
            file is damaged or none: it is never overwritten then.
        OSError
            If no file can be made in the folder of the `checkpoint`, or it cannot be read.
        FloatingPointError
            If double precision gives out on the way: the Gram matrix is so ill-conditioned that a
            ball loses its place, or has a small negative eigenvalue. A softness helps.
        MemoryError
            If there is no room for the draws, or for what else the run takes.

        Warns
        -----
        RuntimeWarning
            If the `checkpoint` could not be written, as on a full disk: the run goes on, and the
            file is the one before.
        ConvergenceWarning
            If a run with `tol` ended with a larger estimated error. If trajectories are further
            apart than their paths are long: the estimated error is infinite. In a run that `tol`
            did not end, for one that met its tolerance needs few effective draws: if R-hat exceeds
            1.01, or what chance allows where draws are few; if the draws are worth less than 100
            independent ones, or than half of their number; if they are too few to tell; if the
            light trap caught no point for two trajectories or more, which then start at one point,
            that of the search for the largest margin.
            If the plane coordinates drifted by more than 1e-6: the Gram matrix is so ill-
            conditioned that softness is needed. If a trajectory goes round a short cycle. If in a
            run without refresh that `tol` did not end one has never met planes that have a tenth of
            the bounces of the others, though it had 100 bounces for each plane hit. If a run of
            more than 500 examples with softness was refreshed by less than 40 pairs for each, or
            one of more than 50 without by less than m for each where refresh="auto" found too many
            dimensions or too rough a matrix (but not where explicit features are at most half as
            many as examples): the directions that few examples know of may not have had their share
            of the length. If softness gives directions so thin that fresh ones
            leave them out, see `refresh`.

        Notes
        -----
        With average="conditional" the center is that of conditional means. Given all other plane
        coordinates, that of one example is a normal variable cut off at its wall, whose mean is
        known at every point of the path; what is known need not be sampled. On kernel matrices
        with softness this has a third to a fifth of the error of the plain integral: a tenth of
        the bounces and less for the same tolerance. The path goes on until it is also worth an
        eighth of the draws asked for (of the first 400, and all beyond). Trajectories
        start at points drawn about the center coordinate by coordinate, and directions are
        refreshed in full, at 0.1 per radian, if `refresh` is "auto".

        The same seed gives the same bits for any number of threads on one machine.

        On polygons (ten random planes in three dimensions), whose center of mass is known, "chord"
        is off by 0.005 to 0.03 radians however long the run, "flipper" by 0.01 to 0.13, "geodesic"
        by its statistical error. The exact integral over the same flights is off by as much: what
        biases them are the flights that escape and the restarts, not the midpoints. The smaller
        version space, the fewer flights escape.

        `scattering` and `scatterer` are the two ways to make a billiard mix that Ruján and
        Marchand propose (section 18.4.2). Beyond a few dimensions hardly a flight meets the sphere,
        and the cosine law, which forgets where the ball was going, is less accurate than `refresh`.

        Examples
        --------
        >>> import numpy as np
        >>> from bayespoint import VersionSpace
        >>> space = VersionSpace(np.eye(3), [1, 1, -1])
        >>> result = space.sample(length=200.0, n_draws=50, random_state=1)
        >>> result.draws.shape
        (4, 50, 3)
        >>> bool((space.margins(result.draws) > 0).all())
        True
        """
        given = {
            "n_trajectories": n_trajectories,
            "n_draws": n_draws,
            "length": length,
            "tol": tol,
            "max_bounces": max_bounces,
            "dynamics": dynamics,
            "scattering": scattering,
            "scatterer": scatterer,
            "tau_max": tau_max,
            "weight_tol": weight_tol,
            "transparency": transparency,
            "refresh": refresh,
            "refresh_rate": refresh_rate,
            "average": average,
            "n_jobs": n_jobs,
        }
        if continue_from is not None:
            if start is not None:
                raise ValueError("start must be None with continue_from: the balls are under way")
            defaults = dict(self.sample.__kwdefaults__ or {})
            given = continuation.resumed_settings(continue_from, given, defaults)
            seed = continuation.resumed_seed(continue_from, random_state)
        else:
            seed = validation.seed(random_state)
        settings = engine_settings.sample_settings(**given)
        opaque = not any(settings.transparency)
        inverse = self._inverse(settings)
        settings = engine_settings.settled(settings, smooths=inverse is not None)
        if opaque and inverse is None:  # else all feature vectors are independent
            self._refuse_conflicts()
        if start is not None:
            start = self._checked_start(start, opaque=opaque)
        course = continuation.begin(
            self,
            settings,
            random_state,
            seed,
            start,
            continue_from=continue_from,
            checkpoint=checkpoint,
            every=every,
        )
        with distributed.sender(self, settings, inverse, n_jobs, callback) as elsewhere:
            run = self._run(settings, start, callback, inverse, course, elsewhere)
        return self._result(run, settings, course)

    def _result(
        self,
        run: Mapping[str, Any],
        settings: engine_settings.SampleSettings,
        course: continuation.Course,
    ) -> BilliardResult:
        """Return the result of the engine's run, with a warning of what is wrong with it."""
        known = {
            "y": self.y,
            "softness": self.softness,
            "offset": self.offset,
            "seed": course.seed,
        }
        result = BilliardResult.from_run({**course.concluded(run), **known}, settings.average)
        course.keep(result)
        messages = result.complaints(settings.tol, settings.n_draws)
        few = too_few_pairs(result, self.gram, chosen=settings.refresh == "auto")
        messages += [few] if few is not None else []
        if run["loses_softness"]:
            messages.append(
                f"the softness, {self.softness[self.softness > 0].min():.2g} at the least, gives "
                "examples directions that are too thin beside their feature vectors for double "
                "precision: they keep what length they have, and center_norm is not that of the "
                "law; 1e-9 of the squared lengths is enough (1e-4 of a matrix of singles)"
            )
        for message in messages:
            warn(message, ConvergenceWarning)
        return result

    def _inverse(self, settings: engine_settings.SampleSettings) -> tuple[Factor, Floats] | None:
        """Return a factor of the Gram matrix and the diagonal of its inverse, where called for."""
        asked = settings.average == "conditional"
        affordable = isinstance(self.gram, np.ndarray) and (
            self.gram.dtype == np.float64 or len(self.y) <= _FEW_SINGLES
        )
        if not (asked or (settings.may_smooth and affordable and self.softness.min() > 0)):
            return None
        if self._known_inverse is not None:
            return self._known_inverse
        sources.require_matrix(self.gram, "average='conditional'")
        with linalg.threads_for(len(self.y)):
            factor = factorize(self.gram, self.offset, self.softness)
            if factor.invertible:
                return factor, factor.inverse_diagonal()
        if not asked:
            return None
        raise ValueError(
            "average='conditional' needs a Gram matrix, with offset and softness, that is far "
            "from singular: a softness, or a larger one, makes it so"
        )

    def _run(
        self,
        settings: engine_settings.SampleSettings,
        start: Floats | None,
        callback: Callable[[Mapping[str, Any]], object] | None,
        inverse: tuple[Factor, Floats] | None,
        course: continuation.Course,
        elsewhere: Callable[..., Any] | None = None,
    ) -> Mapping[str, Any]:
        """Return the engine's run; the inverse is for average="conditional".

        With `elsewhere` the trajectories fly in other processes, to which it hands them.
        """
        m = len(self.y)
        draws = 2 * 8.0 * settings.n_trajectories * settings.n_draws * m
        # Beside the factor, its columns while it is made. The engine checks the room for one that
        # it was not asked for, of as many columns as it finds dimensions.
        scatters = settings.scattering != "specular" or settings.has_scatterer
        if settings.refresh == "full" or scatters:
            what = "refresh='full'" if settings.refresh == "full" else "to scatter a ball"
            sources.require_matrix(self.gram, what)
        factor = 2 * 8.0 * m * m * ((settings.refresh == "full" and inverse is None) + scatters)
        sources.require(
            self.gram,
            draws + factor,
            f"sampling with refresh={settings.refresh!r}",
            [
                f"{memory.readable(factor)} for a factor of the Gram matrix",
                f"{memory.readable(draws)} for n_trajectories={settings.n_trajectories} x "
                f"n_draws={settings.n_draws} draws of {m} coefficients",
            ],
        )
        return _core.run(
            self.gram,
            self.y,
            offset=self.offset,
            softness=self.softness,
            transparency=settings.transparency,
            n_trajectories=settings.n_trajectories,
            n_draws=settings.n_draws,
            length=settings.length,
            tol=settings.tol,
            max_bounces=settings.max_bounces,
            dynamics=settings.dynamics,
            scattering=settings.scattering,
            scatterer=settings.scatterer,
            fits_scatterer=settings.fits_scatterer,
            tau_max=settings.tau_max,
            weight_tol=settings.weight_tol,
            bounce_points=settings.average == "bounces",
            by_impulses=settings.average == "impulse",
            refresh=settings.refresh,
            refresh_rate=settings.refresh_rate,
            start=start,
            factor=None if inverse is None else inverse[0].lower.T,
            inverse_diagonal=None if inverse is None else inverse[1],
            **course.arguments,
            n_threads=settings.n_threads,
            seed=course.seed,
            callback=callback,
            elsewhere=elsewhere,
        )

    def _checked_start(self, start: ArrayLike, *, opaque: bool) -> Floats:
        c = validation.dual_coef("start", start, len(self.y))
        if not c.any():
            raise ValueError("start must not be the zero vector")
        size = float(np.abs(c).max())
        if not 1e-100 < size < 1e100:  # a direction: the square of its length would overflow
            c = c / size
        margins = self.margins(c)
        if opaque and not (margins > 0).all():
            worst = int(np.argmin(margins))
            raise ValueError(
                "start must lie in version space, or the walls be transparent; got a point that "
                f"violates {int((margins <= 0).sum())} of {len(margins)} examples, example "
                f"{worst} with margin {margins[worst]:.3g}"
            )
        return c
