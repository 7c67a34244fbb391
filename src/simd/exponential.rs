//! Exponentials and what is made of them, for loops that the compiler turns into vector instructions.

/// Functions of the distance r: `(a + b r + c r²) exp(-rate r)`.
#[derive(Clone, Copy, Debug)]
pub struct Radial<const N: usize, E = f64> {
    /// At least 0.
    pub rate: E,
    /// The coefficients a, b and c of each function.
    pub terms: [[E; 3]; N],
}

/// Defines the functions for a precision, given the number of terms of `(exp(x) - 1) / x` for |x| <= ln(2) / 2, a number below
/// which exponentials are nearly subnormal, and -ln(2) with few bits and the rest.
macro_rules! functions {
    ($precision:ident, $float:ident, $bits:ident, $n_terms:literal, $least:literal, $ln_2:expr) => {
        pub mod $precision {
            use super::Radial;

            /// Returns the sum of terms times powers of x, from the power 0 on: Horner's rule.
            #[inline(always)]
            pub fn polynomial<const N: usize>(terms: &[$float; N], x: $float) -> $float {
                let mut sum = terms[N - 1];
                for k in (0..N - 1).rev() {
                    sum = sum.mul_add(x, terms[k]);
                }
                sum
            }

            /// Returns the exponential of a number below 1, at least that of the least argument.
            #[inline(always)]
            pub fn exp(x: $float) -> $float {
                const MANTISSA: u32 = $float::MANTISSA_DIGITS - 1;
                /// Added to a number it rounds to an integer, which is in the last bits of the sum.
                const ROUND: $float = 1.5 * ((1 as $bits) << MANTISSA) as $float;
                const LN_2: [$float; 2] = $ln_2;
                const SERIES: [$float; $n_terms] = {
                    let (mut terms, mut n) = ([1.0; $n_terms], 1);
                    while n < $n_terms {
                        terms[n] = terms[n - 1] / (n + 1) as $float;
                        n += 1;
                    }
                    terms
                };
                let x = if x > $least { x } else { $least };
                let places = x.mul_add(std::$float::consts::LOG2_E, ROUND);
                let n = places - ROUND;
                let rest = n.mul_add(LN_2[1], n.mul_add(LN_2[0], x));
                let sum = rest.mul_add(polynomial(&SERIES, rest), 1.0);
                let bits = sum.to_bits().wrapping_add(places.to_bits() << MANTISSA);
                $float::from_bits(bits)
            }

            impl<const N: usize> Radial<N, $float> {
                /// Returns the functions of a distance. Where the exponential is about the smallest normal number they are 0.
                #[inline(always)]
                pub fn at(&self, r: $float) -> [$float; N] {
                    let x = -self.rate * r;
                    let is_large = x < $least;
                    let decay = if self.rate > 0.0 { exp(x) } else { 1.0 };
                    let decay = if is_large { 0.0 } else { decay };
                    self.terms.map(
                        #[inline(always)]
                        |[a, b, c]| r.mul_add(r.mul_add(c, b), a) * decay,
                    )
                }
            }
        }
    };
}

functions!(
    doubles,
    f64,
    u64,
    12,
    -708.0,
    [-6.931_471_803_691_238e-1, -1.908_214_929_270_587_7e-10]
);
functions!(singles, f32, u32, 6, -87.0, [-0.693_359_4, 2.121_944_4e-4]);
