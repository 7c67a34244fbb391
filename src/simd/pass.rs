//! The O(m) loop of the engine: rotates the plane coordinates, adds Gram rows and finds the next wall.
//!
//! Every event of a trajectory (bounce, crossing, refresh, plain flight) is one call of [`advance`].
//! The loop compares flight times without a division: with `cot t = n/d` and `d ≥ 0`, the earlier of
//! two zeros is the one with the larger cotangent, and `n₁/d₁ > n₂/d₂` means `n₁ d₂ > n₂ d₁`. It runs over
//! vectors of planes without branches or allocations; [`pulp`] chooses the instruction set at run time.
//!
//! # Sides are sign bits
//!
//! The sign bit of `f_i`, also of a zero, is the side of plane `i` on which the ball is. Only an event at plane
//! `i` may change it. A flight ends at the earliest zero, so a rotation can carry another `f_i` past zero only by
//! rounding. The pass then sets it to zero with the old sign: a hard wall is never crossed by accident, and a
//! plane that is still being approached is the next wall at `t = 0`.

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::entry::WIDEST;

pub use super::entry::Entry;

/// Number of independent searches, which hide the latency of compare and select.
const SEARCHES: usize = 2;

const SIGN: u64 = 1 << 63;

/// Indices of the lanes of a vector.
const LANE: [u64; WIDEST] = {
    let mut lane = [0; WIDEST];
    let mut i = 0;
    while i < WIDEST {
        lane[i] = i as u64;
        i += 1;
    }
    lane
};

/// Cotangent above which the arctangent is computed by a short series.
const STEEP: f64 = 16.0;

/// Returns the arctangent of x in [0, 1 / [`STEEP`]], by terms in pairs, a shorter chain; the first omitted is below 1e-18.
#[inline]
fn arctangent(x: f64) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    let tail = (1.0 / 9.0 - x2 * (1.0 / 11.0)) + x4 * (1.0 / 13.0);
    x * ((1.0 - x2 * (1.0 / 3.0)) + x4 * ((1.0 / 5.0 - x2 * (1.0 / 7.0)) + x4 * tail))
}

/// The wall that the ball meets next: the earliest zero of `f_i cos t + g_i sin t`, as a cotangent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextWall {
    /// Index of the plane; `usize::MAX` if none was found.
    pub plane: usize,
    /// Numerator of `cot t`: `-g_i · side`.
    pub n: f64,
    /// Denominator of `cot t`: `|f_i| ≥ 0`.
    pub d: f64,
}

impl NextWall {
    /// Start of a search, later than every zero before `t = π`.
    ///
    /// `d` is positive so that an approached plane at `d = 0` is earlier, and large enough for products not to underflow.
    pub const NONE: Self = Self { plane: usize::MAX, n: -1.0, d: 1e-200 };

    /// Returns the zero of one plane, given its coordinates.
    #[inline]
    pub fn of(plane: usize, f: f64, g: f64) -> Self {
        let sign = f.to_bits() & SIGN;
        Self { plane, n: f64::from_bits(g.to_bits() ^ sign ^ SIGN), d: f.abs() }
    }

    /// Returns whether `self` is strictly earlier than `other`; false if a coordinate is NaN.
    #[inline]
    pub fn before(&self, other: &Self) -> bool {
        self.n * other.d > other.n * self.d
    }

    /// Returns the earlier of the two, `self` on ties.
    #[inline]
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.before(&self) { other } else { self }
    }

    /// Returns the flight time to the wall, radians in [0, π].
    #[inline]
    pub fn angle(&self) -> f64 {
        // Most flights are short.
        if self.n > STEEP * self.d { arctangent(self.d / self.n) } else { self.d.atan2(self.n) }
    }

    /// Returns `cos t` and `sin t` of the flight and the speed `|(f, g)|` of the coordinate, without trigonometric functions.
    #[inline]
    pub fn rotation(&self) -> (f64, f64, f64) {
        let square = self.n * self.n + self.d * self.d;
        // The slower `hypot` is needed only where the square loses digits.
        let h =
            if (1e-200..1e200).contains(&square) { square.sqrt() } else { self.n.hypot(self.d) };
        if h > 0.0 { (self.n / h, self.d / h, h) } else { (1.0, 0.0, 0.0) }
    }
}

/// A multiple of a Gram row, without offset and softness, that is added to `g` as the direction changes along its vector.
pub type Kick<'a, E = f64> = (f64, &'a [E]);

/// Rotates all plane coordinates by the angle with cosine `c` and sine `s`, adds the kicks to `g` and returns the next wall.
///
/// `f ← f c + g s`, `g ← g c - f s + Σ scale · row + lift`, where `lift` is the contribution of the offset of
/// the Gram matrix. Planes with NaN in `g` are excluded: their coordinates must be set by the caller.
#[inline(always)]
pub fn advance<E: Entry>(
    arch: Arch,
    f: &mut [f64],
    g: &mut [f64],
    (cos, sin): (f64, f64),
    kicks: &[Kick<E>],
    lift: f64,
) -> NextWall {
    match *kicks {
        [] => arch.dispatch(Fused::<E, 0> { cos, f, sin, kicks: [], lift, g }),
        [a] => arch.dispatch(Fused { cos, f, sin, kicks: [a], lift, g }),
        [a, b] => arch.dispatch(Fused { cos, f, sin, kicks: [a, b], lift, g }),
        _ => unreachable!("an event changes the direction along two planes at most"),
    }
}

/// Arguments of a pass. No two numbers are adjacent: reading two as a vector would stall until both were written.
#[repr(C)]
struct Fused<'a, E, const KICKS: usize> {
    cos: f64,
    f: &'a mut [f64],
    sin: f64,
    kicks: [Kick<'a, E>; KICKS],
    lift: f64,
    g: &'a mut [f64],
}

struct Constants<S: Simd, const KICKS: usize> {
    c: S::f64s,
    s: S::f64s,
    minus_s: S::f64s,
    lift: S::f64s,
    scales: [S::f64s; KICKS],
    sign: S::f64s,
    zero: S::f64s,
}

/// The earliest zero so far in each lane.
#[derive(Clone, Copy)]
struct Lanes<S: Simd> {
    n: S::f64s,
    d: S::f64s,
    plane: S::u64s,
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    fn new(simd: S) -> Self {
        Self {
            n: simd.splat_f64s(NextWall::NONE.n),
            d: simd.splat_f64s(NextWall::NONE.d),
            plane: simd.splat_u64s(u64::MAX),
        }
    }

    /// Rotates and kicks one vector of planes in place and keeps the earlier zeros.
    #[inline(always)]
    fn step<const KICKS: usize>(
        &mut self,
        simd: S,
        k: &Constants<S, KICKS>,
        f: &mut S::f64s,
        g: &mut S::f64s,
        rows: [S::f64s; KICKS],
        plane: S::u64s,
    ) {
        let sign = simd.and_f64s(*f, k.sign);
        let turned = simd.mul_add_e_f64s(*f, k.c, simd.mul_f64s(*g, k.s));
        let d = simd.max_f64s(simd.xor_f64s(turned, sign), k.zero);
        let mut speed = simd.mul_add_e_f64s(*f, k.minus_s, k.lift);
        for r in 0..KICKS {
            speed = simd.mul_add_e_f64s(k.scales[r], rows[r], speed);
        }
        speed = simd.mul_add_e_f64s(*g, k.c, speed);
        *f = simd.or_f64s(d, sign);
        *g = speed;
        let n = simd.xor_f64s(speed, simd.xor_f64s(sign, k.sign));
        *self = self.or(simd, Self { n, d, plane });
    }

    /// Returns the earlier zero of two searches in each lane.
    #[inline(always)]
    fn or(self, simd: S, other: Self) -> Self {
        let earlier =
            simd.greater_than_f64s(simd.mul_f64s(other.n, self.d), simd.mul_f64s(self.n, other.d));
        Self {
            n: simd.select_f64s(earlier, other.n, self.n),
            d: simd.select_f64s(earlier, other.d, self.d),
            plane: simd.select_u64s(earlier, other.plane, self.plane),
        }
    }

    #[inline(always)]
    fn earliest(mut self, simd: S) -> NextWall {
        let mut half = S::F64_LANES / 2;
        while half > 0 {
            let other = Self {
                n: simd.rotate_left_f64s(self.n, half),
                d: simd.rotate_left_f64s(self.d, half),
                plane: simd.rotate_left_u64s(self.plane, half),
            };
            self = self.or(simd, other);
            half /= 2;
        }
        let n: &[f64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.n));
        let d: &[f64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.d));
        let plane: &[u64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.plane));
        #[allow(clippy::cast_possible_truncation, reason = "an index of a slice, or MAX")]
        NextWall { plane: plane[0] as usize, n: n[0], d: d[0] }
    }
}

#[inline(always)]
fn vector_mut<S: Simd>(entries: &mut [f64]) -> &mut S::f64s {
    &mut S::as_mut_simd_f64s(&mut entries[..S::F64_LANES]).0[0]
}

impl<E: Entry, const KICKS: usize> Fused<'_, E, KICKS> {
    /// Runs the pass over fewer planes than one vector holds.
    #[inline(always)]
    fn few(self) -> NextWall {
        let Self { cos: c, f, sin: s, kicks, lift, g } = self;
        let mut wall = NextWall::NONE;
        for (plane, (f, g)) in f.iter_mut().zip(g).enumerate() {
            let mut kick = lift;
            for (scale, row) in kicks {
                kick += scale * row[plane].into();
            }
            let side = *f;
            let turned =
                f64::from_bits((*f * c + *g * s).to_bits() ^ (side.to_bits() & SIGN)).max(0.0);
            let speed = *g * c - *f * s + kick;
            *f = turned.copysign(side);
            *g = speed;
            wall = wall.or(NextWall::of(plane, *f, speed));
        }
        wall
    }
}

impl<E: Entry, const KICKS: usize> WithSimd for Fused<'_, E, KICKS> {
    type Output = NextWall;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> NextWall {
        let (lanes, m) = (S::F64_LANES, self.f.len());
        if m < lanes {
            return self.few();
        }
        let Self { cos, f, sin, kicks, lift, g } = self;
        let g = &mut g[..m];
        let rows = kicks.map(|kick| &kick.1[..m]);
        let constants = Constants {
            c: simd.splat_f64s(cos),
            s: simd.splat_f64s(sin),
            minus_s: simd.splat_f64s(-sin),
            lift: simd.splat_f64s(lift),
            scales: kicks.map(|kick| simd.splat_f64s(kick.0)),
            sign: simd.splat_f64s(-0.0),
            zero: simd.splat_f64s(0.0),
        };
        let mut searches = [Lanes::new(simd); SEARCHES];
        let first = S::as_simd_u64s(&LANE[..lanes]).0[0];
        // The last planes form one vector, read before the loop changes planes that are in both, which get the same bits.
        let last = m - lanes;
        let (mut f_last, mut g_last) =
            (*vector_mut::<S>(&mut f[last..]), *vector_mut::<S>(&mut g[last..]));
        searches[SEARCHES - 1].step(
            simd,
            &constants,
            &mut f_last,
            &mut g_last,
            rows.map(|row| E::load(simd, &row[last..])),
            simd.add_u64s(first, simd.splat_u64s(last as u64)),
        );
        let mut planes: [S::u64s; SEARCHES] = std::array::from_fn(|search| {
            simd.add_u64s(first, simd.splat_u64s((search * lanes) as u64))
        });
        let width = SEARCHES * lanes;
        let stride = simd.splat_u64s(width as u64);
        let (f_blocks, f_single) = S::as_mut_simd_f64s(f).0.as_chunks_mut::<SEARCHES>();
        let (g_blocks, g_single) = S::as_mut_simd_f64s(g).0.as_chunks_mut::<SEARCHES>();
        let single = f_blocks.len() * width;
        for (block, (fs, gs)) in f_blocks.iter_mut().zip(g_blocks).enumerate() {
            let ks = rows.map(|row| &row[block * width..][..width]);
            for search in 0..SEARCHES {
                searches[search].step(
                    simd,
                    &constants,
                    &mut fs[search],
                    &mut gs[search],
                    ks.map(|k| E::load(simd, &k[search * lanes..])),
                    planes[search],
                );
                planes[search] = simd.add_u64s(planes[search], stride);
            }
        }
        for (search, (f, g)) in f_single.iter_mut().zip(g_single).enumerate() {
            let ks = rows.map(|row| E::load(simd, &row[single + search * lanes..]));
            searches[search].step(simd, &constants, f, g, ks, planes[search]);
        }
        *vector_mut::<S>(&mut f[last..]) = f_last;
        *vector_mut::<S>(&mut g[last..]) = g_last;
        let [a, b] = searches;
        a.or(simd, b).earliest(simd)
    }
}
