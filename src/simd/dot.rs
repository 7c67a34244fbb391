//! Inner products and sums of multiples of vectors.

use pulp::Simd;

use super::entry::{Entry, vector_fn, vectorized};

/// Number of independent sums, which hide the latency of an addition.
const SUMS: usize = 4;

/// Sums of products, one per lane, with their rounding errors.
#[derive(Clone, Copy)]
struct LaneSum<S: Simd> {
    high: S::f64s,
    low: S::f64s,
}

impl<S: Simd> LaneSum<S> {
    #[inline(always)]
    fn add_product<const COMPENSATED: bool>(&mut self, simd: S, a: S::f64s, b: S::f64s) {
        if COMPENSATED {
            let product = simd.mul_f64s(a, b);
            let error = simd.mul_add_f64s(a, b, simd.neg_f64s(product));
            self.low = simd.add_f64s(self.low, error);
            self.add(simd, product);
        } else {
            self.high = simd.mul_add_e_f64s(a, b, self.high);
        }
    }

    /// Knuth's two-sum: adds x and collects the rounding error.
    #[inline(always)]
    fn add(&mut self, simd: S, x: S::f64s) {
        let sum = simd.add_f64s(self.high, x);
        let part = simd.sub_f64s(sum, self.high);
        let lost = simd
            .add_f64s(simd.sub_f64s(self.high, simd.sub_f64s(sum, part)), simd.sub_f64s(x, part));
        self.high = sum;
        self.low = simd.add_f64s(self.low, lost);
    }
}

vector_fn! {
    /// The inner products of one vector with V others, plain or compensated.
    fn dots_in[E: Entry, const COMPENSATED: bool, const V: usize]<COMPENSATED>(
        simd: S,
        a: &[E],
        b: [&[f64]; V],
    ) -> [f64; V] {
        let n = a.len();
        let (a_vectors, a_rest) = a.split_at(n - n % S::F64_LANES);
        let b = b.map(|b| S::as_simd_f64s(&b[..n]));
        let zero = simd.splat_f64s(0.0);
        let mut sums = [[LaneSum::<S> { high: zero, low: zero }; SUMS]; V];
        let width = SUMS * S::F64_LANES;
        let blocks = n / width;
        let (a_blocks, a_single) = a_vectors.split_at(blocks * width);
        let b_blocks = b.map(|(vectors, _)| &vectors.as_chunks::<SUMS>().0[..blocks]);
        for (block, a) in a_blocks.chunks_exact(width).enumerate() {
            for k in 0..SUMS {
                let a = E::load(simd, &a[k * S::F64_LANES..]);
                for v in 0..V {
                    sums[v][k].add_product::<COMPENSATED>(simd, a, b_blocks[v][block][k]);
                }
            }
        }
        for (k, a) in a_single.chunks_exact(S::F64_LANES).enumerate() {
            let a = E::load(simd, a);
            for v in 0..V {
                let b = b[v].0[blocks * SUMS + k];
                sums[v][k].add_product::<COMPENSATED>(simd, a, b);
            }
        }
        if !a_rest.is_empty() {
            let a = E::load_partial(simd, a_rest);
            for v in 0..V {
                let b = simd.partial_load_f64s(b[v].1);
                sums[v][0].add_product::<COMPENSATED>(simd, a, b);
            }
        }
        sums.map(
            #[inline(always)]
            |sums| total::<S, COMPENSATED>(simd, sums),
        )
    }
}

#[inline(always)]
fn total<S: Simd, const COMPENSATED: bool>(simd: S, sums: [LaneSum<S>; SUMS]) -> f64 {
    let [mut total, others @ ..] = sums;
    for other in others {
        if COMPENSATED {
            total.add(simd, other.high);
            total.low = simd.add_f64s(total.low, other.low);
        } else {
            total.high = simd.add_f64s(total.high, other.high);
        }
    }
    if !COMPENSATED {
        return simd.reduce_sum_f64s(total.high);
    }
    let (mut high, mut low) = (0.0, simd.reduce_sum_f64s(total.low));
    for x in pulp::bytemuck::cast_slice::<_, f64>(std::slice::from_ref(&total.high)) {
        let sum = high + x;
        let part = sum - high;
        low += (high - (sum - part)) + (x - part);
        high = sum;
    }
    high + low
}

/// Returns the inner product of two vectors of the same length.
pub fn dot<E: Entry>(a: &[E], b: &[f64]) -> f64 {
    dots(a, [b], Precision::Plain)[0]
}

/// Returns the inner product as if summed in twice the working precision and then rounded (Ogita, Rump and Oishi, 2005).
pub fn dot_compensated(a: &[f64], b: &[f64]) -> f64 {
    dots(a, [b], Precision::Compensated)[0]
}

/// Precision of the sum in an inner product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Working precision, for statistics.
    Plain,
    /// As if in twice the working precision, at several times the cost: for the state of a ball. For ill-conditioned
    /// matrices c is large and `K c` small, so the rounding of a plain sum would be visible in `|w|² = cᵀ K c`.
    Compensated,
}

/// Returns the inner products of one vector with V others, which it is read once for. Each has the bits of one alone.
pub fn dots<E: Entry, const V: usize>(a: &[E], b: [&[f64]; V], precision: Precision) -> [f64; V] {
    assert!(b.iter().all(|b| b.len() == a.len()));
    match precision {
        Precision::Plain => dots_in::<E, false, V>(a, b),
        Precision::Compensated => dots_in::<E, true, V>(a, b),
    }
}

/// `x ← a x`.
pub fn scale(x: &mut [f64], a: f64) {
    x.iter_mut().for_each(|x| *x *= a);
}

/// `y ← y + x`.
pub fn add(y: &mut [f64], x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
}

/// `y ← y + a x`.
pub fn axpy<E: Entry>(a: f64, x: &[E], y: &mut [f64]) {
    assert_eq!(x.len(), y.len());
    vectorized!({
        for (y, &x) in y.iter_mut().zip(x) {
            *y += a * x.into();
        }
    });
}

/// `y ← y + Σ_k a_k x_k`, four vectors at a time, so that y is read and written a quarter as often.
pub fn axpy_all<E: Entry>(terms: &[(f64, &[E])], y: &mut [f64]) {
    assert!(terms.iter().all(|(_, x)| x.len() == y.len()));
    let (fours, rest) = terms.as_chunks::<4>();
    for four in fours {
        let [(a, p), (b, q), (c, r), (d, s)] = *four;
        vectorized!({
            for ((((y, &p), &q), &r), &s) in y.iter_mut().zip(p).zip(q).zip(r).zip(s) {
                *y += (a * p.into() + b * q.into()) + (c * r.into() + d * s.into());
            }
        });
    }
    for (a, x) in rest {
        axpy(*a, x, y);
    }
}
