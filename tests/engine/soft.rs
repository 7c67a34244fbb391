//! Balls with soft walls sample the stated law.

use std::convert::Infallible;

use bayespoint::{NormalLaw, SoftBalls, SoftWalls, Trial, Turns};

use crate::common::{dot, mean, mean_and_error};

/// A normal log likelihood of weight vectors.
#[derive(Default)]
struct Quadratic {
    precision: [f64; 3],
    center: [f64; 3],
    mean: [f64; 3],
    balls: Vec<[[f64; 3]; 2]>,
}

impl Quadratic {
    fn at(&self, trial: &Trial) -> [f64; 3] {
        let ([a, b], [place, direction]) = (trial.along, self.balls[trial.ball]);
        std::array::from_fn(|i| self.mean[i] + a * place[i] + b * direction[i])
    }

    fn slope(&self, trial: &Trial) -> [f64; 3] {
        let w = self.at(trial);
        std::array::from_fn(|i| -self.precision[i] * (w[i] - self.center[i]))
    }
}

impl SoftWalls for Quadratic {
    type Error = Infallible;

    fn start(&mut self, vectors: Vec<f64>) -> Result<(), Infallible> {
        let (mean, pairs) = vectors.as_chunks::<3>().0.split_first().expect("the mean");
        self.mean = *mean;
        self.balls = pairs.as_chunks::<2>().0.to_vec();
        Ok(())
    }

    fn turn(&mut self, turns: Turns) -> Result<(), Infallible> {
        let added = turns.added.as_chunks::<3>().0;
        for (k, &ball) in turns.balls.iter().enumerate() {
            let [place, direction] = self.balls[ball];
            let along = |[a, b]: [f64; 2]| std::array::from_fn(|i| a * place[i] + b * direction[i]);
            let turned: [f64; 3] = along(turns.directions[k]);
            let direction = std::array::from_fn(|i| turned[i] + added[k][i]);
            self.balls[ball] = [along(turns.places[k]), direction];
        }
        Ok(())
    }

    fn log_likelihoods(&mut self, trials: &[Trial]) -> Result<Vec<[f64; 3]>, Infallible> {
        let each = trials.iter().map(|trial| {
            let (w, slope) = (self.at(trial), self.slope(trial));
            let apart: [f64; 3] = std::array::from_fn(|i| w[i] - self.center[i]);
            let [place, direction] = self.balls[trial.ball];
            [0.5 * dot(&slope, &apart), dot(&slope, &place), dot(&slope, &direction)]
        });
        Ok(each.collect())
    }

    fn slopes(&mut self, trials: &[Trial]) -> Result<Vec<f64>, Infallible> {
        Ok(trials.iter().flat_map(|trial| self.slope(trial)).collect())
    }
}

const BALLS: usize = 400;
const STEPS: usize = 60;

/// Returns the weight vectors of balls after each step, of a ball one after the other.
fn draws(precision: [f64; 3], center: [f64; 3], n_rising: usize) -> Vec<[f64; 3]> {
    let root = [1.0, 0.3, -0.2, 0.0, 0.7, 0.1, 0.0, 0.0, 0.4];
    let normal = NormalLaw { mean: &[0.2, -0.5, 0.0], root: &root };
    let mut balls = SoftBalls::new(3, BALLS, 3.0, 7, n_rising);
    let mut walls = Quadratic { precision, center, ..Quadratic::default() };
    balls.steps(20, &normal, &mut walls).expect("no error");
    let found = balls.steps(STEPS, &normal, &mut walls).expect("no error");
    assert!(found.bounces > BALLS);
    let weights = |z: &[f64; 3]| {
        std::array::from_fn(|i| {
            normal.mean[i] + (0..3).map(|j| root[3 * i + j] * z[j]).sum::<f64>()
        })
    };
    found.places.as_chunks::<3>().0.iter().map(weights).collect()
}

/// Asserts that the mean of a function is 0: the balls are independent, and errors follow from what differs between them.
fn assert_zero_mean(w: &[[f64; 3]], of: impl Fn(&[f64; 3]) -> f64, what: &str) {
    let means = w.chunks_exact(STEPS).map(|draws| mean(&draws.iter().map(&of).collect::<Vec<_>>()));
    let (average, error) = mean_and_error(&means.collect::<Vec<_>>());
    assert!(average.abs() < 5.0 * error, "{what}: {average} ± {error}");
}

#[test]
fn soft_balls_sample_a_normal_posterior() {
    let (precision, center) = ([0.5, 4.0, 30.0], [1.0, -2.0, 0.5]);
    let w = draws(precision, center, 0);
    for i in 0..3 {
        let variance = (1.0 + precision[i]).recip();
        let mean = precision[i] * center[i] * variance;
        for (power, exact) in [(1, 0.0), (2, variance)] {
            let what = format!("moment {power} of weight {i}");
            assert_zero_mean(&w, |w| (w[i] - mean).powi(power) - exact, &what);
        }
    }
}

#[test]
fn weights_that_must_rise_have_the_part_of_the_posterior_where_they_do() {
    let (precision, center) = ([0.5, 2.0, 3.0], [1.0, 0.4, 0.0]);
    let w = draws(precision, center, 2);
    assert!(w.iter().all(|w| w[1] < w[2]));
    // Moments of the second and third weight, by a sum over a grid.
    let density =
        |i: usize, x: f64| (-0.5 * (x * x + precision[i] * (x - center[i]).powi(2))).exp();
    let mut sums = [0.0; 5];
    for (j, k) in (0..600).flat_map(|k| (0..k).map(move |j| (j, k))) {
        let [one, two] = [j, k].map(|n| f64::from(n) * 0.01 - 3.0);
        let weight = density(1, one) * density(2, two);
        let terms = [1.0, one, two, one * one, two * two];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
    }
    for i in 1..3 {
        for (power, sum) in [(1, sums[i]), (2, sums[i + 2])] {
            // The diagonal of the grid is left out, which moves means by less than its step.
            let exact = sum / sums[0];
            let what = format!("moment {power} of weight {i}");
            assert_zero_mean(&w, |w| w[i].powi(power) - exact, &what);
        }
    }
}
