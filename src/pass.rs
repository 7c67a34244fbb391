//! The one O(m) loop of the engine: rotate the plane coordinates, add Gram rows, find the next wall.
//!
//! Every event of a trajectory (bounce, crossing, refresh, plain flight) is one call of [`advance`].
//! The loop compares flight times without a division: with `cot t = n/d` and `d ≥ 0`, the earlier of
//! two zeros is the one with the larger cotangent, and `n₁/d₁ > n₂/d₂` is `n₁ d₂ > n₂ d₁`. It runs over
//! vectors of planes without branch or allocation; [`pulp`] chooses the instruction set at run time.
//! [`advance_plain`] is its twin for tests.
//!
//! # Sides live in the sign bit
//!
//! On which side of plane `i` the ball is, is the sign bit of `f_i`, signed zeros included. Only an
//! event at plane `i` may change it. A rotation that would carry `f_i` past zero does so by rounding
//! alone (the earliest zero is where the flight ends), so the pass holds it at zero on its own side: a
//! hard wall is never crossed by accident, and the plane, if still approached, is the next wall at `t = 0`.

#![allow(
    clippy::inline_always,
    reason = "vector code must end up in the function compiled for its instruction set"
)]

use pulp::{Arch, Simd, WithSimd};

pub use crate::entry::Entry;

/// Independent searches of the vector loop.
const SEARCHES: usize = 4;

const SIGN: u64 = 1 << 63;

/// The wall that the ball meets next: the earliest zero of `f_i cos t + g_i sin t`, as a cotangent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextWall {
    /// Index of the plane.
    pub plane: usize,
    /// Numerator of `cot t`: `-g_i · side`.
    pub n: f64,
    /// Denominator of `cot t`: `|f_i| ≥ 0`.
    pub d: f64,
}

impl NextWall {
    /// The start of a search: loses against every plane that has a zero before `t = π`.
    /// `d` is a hair above zero, so that a plane at `d = 0` that is being approached wins against it.
    pub const NONE: Self = Self { plane: usize::MAX, n: -1.0, d: f64::MIN_POSITIVE };

    /// The candidate of one plane from its coordinates.
    #[inline]
    pub fn of(plane: usize, f: f64, g: f64) -> Self {
        let sign = f.to_bits() & SIGN;
        Self { plane, n: f64::from_bits(g.to_bits() ^ sign ^ SIGN), d: f.abs() }
    }

    /// True when `self` comes strictly before `other`. False when a coordinate is NaN.
    #[inline]
    pub fn before(&self, other: &Self) -> bool {
        self.n * other.d > other.n * self.d
    }

    /// The earlier of the two, `self` on ties.
    #[inline]
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.before(&self) { other } else { self }
    }

    /// Flight time to the wall, radians in [0, π].
    #[inline]
    pub fn angle(&self) -> f64 {
        self.d.atan2(self.n)
    }

    /// `(cos t, sin t)` of the flight and the speed `|(f, g)|` of the coordinate, without trigonometry.
    #[inline]
    pub fn rotation(&self) -> (f64, f64, f64) {
        let h = self.n.hypot(self.d);
        if h > 0.0 { (self.n / h, self.d / h, h) } else { (1.0, 0.0, 0.0) }
    }
}

/// A multiple of a Gram row that a jump of the direction adds to `g`.
#[derive(Clone, Copy, Debug)]
pub struct Kick<'a, E = f64> {
    /// The multiple.
    pub scale: f64,
    /// The Gram row, length m, without shifts.
    pub row: &'a [E],
}

/// Rotates all plane coordinates by the angle with cosine `c` and sine `s`, adds the kicks to `g` and
/// returns the next wall.
///
/// `f ← f c + g s`, `g ← g c - f s + Σ scale · row + lift`, where `lift` is the constant that a shift of
/// the whole Gram matrix contributes. Planes whose `g` comes in as NaN are left out of the search, and
/// their coordinates are undefined afterwards: the caller sets those itself.
#[inline]
pub fn advance<E: Entry>(
    arch: Arch,
    f: &mut [f64],
    g: &mut [f64],
    rotation: (f64, f64),
    kicks: &[Kick<'_, E>],
    lift: f64,
) -> NextWall {
    match *kicks {
        [] => arch.dispatch(Fused::<E, 0> { f, g, rotation, kicks: [], lift }),
        [a] => arch.dispatch(Fused { f, g, rotation, kicks: [a], lift }),
        [a, b] => arch.dispatch(Fused { f, g, rotation, kicks: [a, b], lift }),
        _ => unreachable!("an event changes the direction along two planes at most"),
    }
}

/// One fused pass, generic over the instruction set.
struct Fused<'a, E, const KICKS: usize> {
    f: &'a mut [f64],
    g: &'a mut [f64],
    rotation: (f64, f64),
    kicks: [Kick<'a, E>; KICKS],
    lift: f64,
}

/// The numbers of a pass, one copy a lane.
struct Constants<S: Simd, const KICKS: usize> {
    c: S::f64s,
    s: S::f64s,
    minus_s: S::f64s,
    lift: S::f64s,
    scales: [S::f64s; KICKS],
    sign: S::f64s,
    zero: S::f64s,
}

/// The earliest zero of each lane so far.
#[derive(Clone, Copy)]
struct Lanes<S: Simd> {
    n: S::f64s,
    d: S::f64s,
    group: S::u64s,
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    fn new(simd: S) -> Self {
        Self {
            n: simd.splat_f64s(NextWall::NONE.n),
            d: simd.splat_f64s(NextWall::NONE.d),
            group: simd.splat_u64s(u64::MAX),
        }
    }

    /// One vector of planes: rotates and kicks them in place and keeps those that come earlier.
    #[inline(always)]
    fn step<const KICKS: usize>(
        &mut self,
        simd: S,
        k: &Constants<S, KICKS>,
        f: &mut S::f64s,
        g: &mut S::f64s,
        rows: [S::f64s; KICKS],
        group: S::u64s,
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
        *self = self.or(simd, Self { n, d, group });
    }

    /// The earlier of two searches, lane by lane.
    #[inline(always)]
    fn or(self, simd: S, other: Self) -> Self {
        let earlier =
            simd.greater_than_f64s(simd.mul_f64s(other.n, self.d), simd.mul_f64s(self.n, other.d));
        Self {
            n: simd.select_f64s(earlier, other.n, self.n),
            d: simd.select_f64s(earlier, other.d, self.d),
            group: simd.select_u64s(earlier, other.group, self.group),
        }
    }

    /// The earliest over all lanes.
    #[inline(always)]
    fn earliest(&self) -> NextWall {
        let n: &[f64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.n));
        let d: &[f64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.d));
        let group: &[u64] = pulp::bytemuck::cast_slice(std::slice::from_ref(&self.group));
        let mut best = NextWall::NONE;
        for lane in 0..S::F64_LANES {
            if group[lane] != u64::MAX {
                #[allow(clippy::cast_possible_truncation, reason = "below the length of a slice")]
                let plane = group[lane] as usize * S::F64_LANES + lane;
                best = best.or(NextWall { plane, n: n[lane], d: d[lane] });
            }
        }
        best
    }
}

impl<E: Entry, const KICKS: usize> WithSimd for Fused<'_, E, KICKS> {
    type Output = NextWall;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> NextWall {
        let Self { f, g, rotation, kicks, lift } = self;
        let m = f.len();
        assert_eq!(g.len(), m);
        let rows = kicks.map(|kick| &kick.row[..m]);
        let scales = kicks.map(|kick| kick.scale);
        let constants = Constants {
            c: simd.splat_f64s(rotation.0),
            s: simd.splat_f64s(rotation.1),
            minus_s: simd.splat_f64s(-rotation.1),
            lift: simd.splat_f64s(lift),
            scales: scales.map(|scale| simd.splat_f64s(scale)),
            sign: simd.splat_f64s(-0.0),
            zero: simd.splat_f64s(0.0),
        };
        let (f_vectors, f_rest) = S::as_mut_simd_f64s(f);
        let (g_vectors, g_rest) = S::as_mut_simd_f64s(g);
        let vectors = f_vectors.len();
        // Independent searches hide the latency of compare and select.
        let mut searches = [Lanes::new(simd); SEARCHES];
        let mut groups: [S::u64s; SEARCHES] =
            std::array::from_fn(|search| simd.splat_u64s(search as u64));
        let stride = simd.splat_u64s(SEARCHES as u64);
        let (f_blocks, f_single) = f_vectors.as_chunks_mut::<SEARCHES>();
        let (g_blocks, g_single) = g_vectors.as_chunks_mut::<SEARCHES>();
        let width = SEARCHES * S::F64_LANES;
        let single = f_blocks.len() * width;
        for (block, (fs, gs)) in f_blocks.iter_mut().zip(g_blocks).enumerate() {
            let ks = rows.map(|row| &row[block * width..][..width]);
            for search in 0..SEARCHES {
                searches[search].step(
                    simd,
                    &constants,
                    &mut fs[search],
                    &mut gs[search],
                    ks.map(|k| E::load(simd, &k[search * S::F64_LANES..])),
                    groups[search],
                );
                groups[search] = simd.add_u64s(groups[search], stride);
            }
        }
        for (search, (f, g)) in f_single.iter_mut().zip(g_single).enumerate() {
            let ks = rows.map(|row| E::load(simd, &row[single + search * S::F64_LANES..]));
            searches[search].step(simd, &constants, f, g, ks, groups[search]);
        }
        let [first, rest @ ..] = searches;
        let mut wall = rest.into_iter().fold(first, |a, b| a.or(simd, b)).earliest();
        let done = vectors * S::F64_LANES;
        for (i, (f, g)) in f_rest.iter_mut().zip(g_rest).enumerate() {
            let plane = done + i;
            let mut kick = lift;
            for r in 0..KICKS {
                kick += scales[r] * rows[r][plane].into();
            }
            let side = *f;
            let turned = f64::from_bits(
                (*f * rotation.0 + *g * rotation.1).to_bits() ^ (side.to_bits() & SIGN),
            );
            let speed = *g * rotation.0 - *f * rotation.1 + kick;
            *f = turned.max(0.0).copysign(side);
            *g = speed;
            wall = wall.or(NextWall::of(plane, *f, speed));
        }
        wall
    }
}

/// The plain twin of [`advance`]: one plane after the other, flight times by the arctangent.
///
/// For tests and for reading; it must agree with [`advance`] up to rounding and ties.
pub fn advance_plain<E: Entry>(
    f: &mut [f64],
    g: &mut [f64],
    (c, s): (f64, f64),
    kicks: &[Kick<'_, E>],
    lift: f64,
) -> NextWall {
    let mut best = NextWall::NONE;
    let mut earliest = std::f64::consts::PI;
    for i in 0..f.len() {
        let side = 1f64.copysign(f[i]);
        let turned = (side * (f[i] * c + g[i] * s)).max(0.0);
        let kick = lift + kicks.iter().map(|kick| kick.scale * kick.row[i].into()).sum::<f64>();
        let speed = g[i] * c - f[i] * s + kick;
        let left_out = g[i].is_nan();
        f[i] = turned.copysign(side);
        g[i] = speed;
        let angle = turned.atan2(-side * speed);
        if !left_out && angle < earliest {
            earliest = angle;
            best = NextWall { plane: i, n: -side * speed, d: turned };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Coordinates with the hostile values among them: zeros of either sign, ties, subnormals.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => -1.0..1.0f64,
            1 => Just(0.0),
            1 => Just(-0.0),
            1 => Just(0.5),
            1 => Just(5e-310),
            1 => -1e-200..1e-200f64,
        ]
    }

    /// Every instruction set that this machine has.
    fn archs() -> Vec<Arch> {
        let mut archs = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        archs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn advance_agrees_with_its_plain_twin(
            planes in prop::collection::vec((coordinate(), coordinate(), coordinate(), coordinate()), 1..150),
            angle in 0.0..3.0f64,
            kicks in 0usize..3,
            lift in -0.5..0.5f64,
            left_out in prop::option::of(0usize..150),
        ) {
            let mut f: Vec<f64> = planes.iter().map(|p| p.0).collect();
            let mut g: Vec<f64> = planes.iter().map(|p| p.1).collect();
            let rows: [Vec<f64>; 2] =
                [planes.iter().map(|p| p.2).collect(), planes.iter().map(|p| p.3).collect()];
            if let Some(i) = left_out.filter(|&i| i < g.len()) {
                g[i] = f64::NAN;
            }
            let kicks: Vec<Kick<'_>> =
                rows.iter().take(kicks).zip([0.7, -1.3]).map(|(row, scale)| Kick { scale, row }).collect();
            let (mut f2, mut g2) = (f.clone(), g.clone());
            let rotation = (angle.cos(), angle.sin());
            let fast = advance(Arch::new(), &mut f, &mut g, rotation, &kicks, lift);
            let plain = advance_plain(&mut f2, &mut g2, rotation, &kicks, lift);
            for i in 0..f.len() {
                if left_out == Some(i) { continue; }
                prop_assert!((f[i] - f2[i]).abs() <= 1e-15 && f[i].is_sign_negative() == f2[i].is_sign_negative());
                prop_assert!((g[i] - g2[i]).abs() <= 1e-14);
            }
            prop_assert!(left_out.is_none() || Some(fast.plane) != left_out);
            // The cotangents decide between walls that the arctangent of the twin cannot tell apart.
            prop_assert!((fast.angle() - plain.angle()).abs() <= 1e-7, "{fast:?} {plain:?}");
            if fast.plane != usize::MAX {
                let own = NextWall::of(fast.plane, f[fast.plane], g[fast.plane]);
                prop_assert_eq!(own, fast);
            }
        }
    }

    proptest! {
        /// Singles are widened without loss: the same bits as from a row of doubles with the same values, at every length.
        #[test]
        fn rows_of_singles_give_the_bits_of_doubles(
            planes in prop::collection::vec((coordinate(), coordinate(), -2.0..2.0f32, -2.0..2.0f32), 1..150),
            angle in 0.0..3.0f64,
            kicks in 1usize..3,
        ) {
            let coordinates = |of: fn(&(f64, f64, f32, f32)) -> f64| planes.iter().map(of).collect::<Vec<_>>();
            let singles: [Vec<f32>; 2] =
                [planes.iter().map(|p| p.2).collect(), planes.iter().map(|p| p.3).collect()];
            let doubles = singles.clone().map(|row| row.into_iter().map(f64::from).collect::<Vec<_>>());
            let narrow: Vec<Kick<'_, f32>> =
                singles.iter().take(kicks).zip([0.7, -1.3]).map(|(row, scale)| Kick { scale, row }).collect();
            let wide: Vec<Kick<'_>> =
                doubles.iter().take(kicks).zip([0.7, -1.3]).map(|(row, scale)| Kick { scale, row }).collect();
            let rotation = (angle.cos(), angle.sin());
            for arch in archs() {
                let (mut f, mut g) = (coordinates(|p| p.0), coordinates(|p| p.1));
                let (mut f2, mut g2, mut f3, mut g3) = (f.clone(), g.clone(), f.clone(), g.clone());
                let of_singles = advance(arch, &mut f, &mut g, rotation, &narrow, 0.1);
                let of_doubles = advance(arch, &mut f2, &mut g2, rotation, &wide, 0.1);
                prop_assert_eq!(of_singles, of_doubles);
                prop_assert_eq!(&f, &f2);
                prop_assert_eq!(&g, &g2);
                let plain = advance_plain(&mut f3, &mut g3, rotation, &narrow, 0.1);
                prop_assert!((of_singles.angle() - plain.angle()).abs() <= 1e-7);
                prop_assert!(g.iter().zip(&g3).all(|(a, b)| (a - b).abs() <= 1e-14));
            }
        }
    }

    #[test]
    fn rounding_does_not_change_sides() {
        let (mut f, mut g) = (vec![1e-17, -1e-17, 0.3], vec![-1.0, 1.0, 0.1]);
        let wall = advance::<f64>(Arch::new(), &mut f, &mut g, (1.0, 1e-16), &[], 0.0);
        assert!(f[0] == 0.0 && f[0].is_sign_positive() && f[1] == 0.0 && f[1].is_sign_negative());
        assert!(wall.plane < 2 && wall.angle() == 0.0);
    }

    #[test]
    fn a_plane_just_left_is_half_a_turn_away() {
        let (mut f, mut g) = (vec![0.0], vec![1.0]);
        let wall = advance::<f64>(Arch::new(), &mut f, &mut g, (1.0, 0.0), &[], 0.0);
        assert_eq!(wall, NextWall::NONE);
    }
}
