//! Balls with soft walls sample the stated law.

use std::convert::Infallible;

use bayespoint::likelihood::Trial;
use bayespoint::{NormalLaw, SoftBalls, SoftWalls, Turns};

const PRECISION: [f64; 3] = [0.5, 4.0, 30.0];
const CENTER: [f64; 3] = [1.0, -2.0, 0.5];

/// A normal log likelihood of weight vectors.
struct Quadratic {
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
        std::array::from_fn(|i| -PRECISION[i] * (w[i] - CENTER[i]))
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
        let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let each = trials.iter().map(|trial| {
            let (w, slope) = (self.at(trial), self.slope(trial));
            let apart: [f64; 3] = std::array::from_fn(|i| w[i] - CENTER[i]);
            let [place, direction] = self.balls[trial.ball];
            [0.5 * dot(slope, apart), dot(slope, place), dot(slope, direction)]
        });
        Ok(each.collect())
    }

    fn slopes(&mut self, trials: &[Trial]) -> Result<Vec<f64>, Infallible> {
        Ok(trials.iter().flat_map(|trial| self.slope(trial)).collect())
    }
}

#[test]
fn soft_balls_sample_a_normal_posterior() {
    const BALLS: usize = 400;
    const STEPS: usize = 60;
    let root = [1.0, 0.3, -0.2, 0.0, 0.7, 0.1, 0.0, 0.0, 0.4];
    let normal = NormalLaw { mean: &[0.2, -0.5, 0.0], root: &root };
    let mut balls = SoftBalls::new(3, BALLS, 3.0, 7);
    let mut walls = Quadratic { mean: [0.0; 3], balls: Vec::new() };
    balls.steps(20, &normal, &mut walls).expect("no error");
    let found = balls.steps(STEPS, &normal, &mut walls).expect("no error");
    assert!(found.bounces > BALLS);
    let w: Vec<[f64; 3]> = found
        .places
        .as_chunks::<3>()
        .0
        .iter()
        .map(|z| {
            std::array::from_fn(|i| {
                normal.mean[i] + (0..3).map(|j| root[3 * i + j] * z[j]).sum::<f64>()
            })
        })
        .collect();
    for i in 0..3 {
        let variance = (1.0 + PRECISION[i]).recip();
        let mean = PRECISION[i] * CENTER[i] * variance;
        // The balls are independent: the errors follow from what differs between them.
        for (power, exact) in [(1, 0.0), (2, variance)] {
            let each: Vec<f64> = w
                .chunks_exact(STEPS)
                .map(|draws| draws.iter().map(|w| (w[i] - mean).powi(power)).sum::<f64>())
                .map(|sum| sum / STEPS as f64 - exact)
                .collect();
            let average = each.iter().sum::<f64>() / BALLS as f64;
            let spread = each.iter().map(|x| (x - average).powi(2)).sum::<f64>() / BALLS as f64;
            let error = (spread / BALLS as f64).sqrt();
            assert!(
                average.abs() < 5.0 * error,
                "moment {power} of weight {i}: {average} ± {error}"
            );
        }
    }
}
