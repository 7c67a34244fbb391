//! Centers of five regions of lines, and the flights to them: `cargo run --release --example billiard`.
//!
//! A line `w1 x + w2 y + b = 0` that separates labeled points of a plane is a point of the unit sphere. The lines
//! without an error are a polygon there, whose sides are the points. The program prints as JSON, for each of five
//! sets of points, the first bounces of a ball and the center of mass with its error. The page `docs/extra/billiard.html`
//! is tested beside these numbers.

use bayespoint::{Ball, Control, Error, Gram, Settings, VersionSpace, feasible_point, run};

type Point = (f64, f64, i8);

const SETS: [&[Point]; 5] = [
    &[(-0.5, 0.4, 1), (0.5, 0.5, -1), (0.1, -0.6, -1)],
    &[
        (-0.6, 0.5, 1),
        (-0.2, 0.7, 1),
        (-0.7, -0.1, 1),
        (0.5, -0.4, -1),
        (0.6, 0.3, -1),
        (0.1, -0.7, -1),
    ],
    &[
        (-0.8, 0.25, 1),
        (-0.1, 0.3, 1),
        (0.7, 0.45, 1),
        (-0.7, -0.3, -1),
        (0.0, 0.05, -1),
        (0.8, -0.2, -1),
    ],
    &[
        (-0.3, 0.8, 1),
        (-0.4, 0.2, 1),
        (0.2, 0.8, 1),
        (0.7, 0.4, -1),
        (0.4, 0.0, -1),
        (-0.3, -0.7, -1),
    ],
    &[(0.0, 0.5, 1), (0.5, 0.5, 1), (0.2, -0.1, -1)],
];

/// Returns the vector of a position, by its dual coefficients.
fn vector(features: &[[f64; 3]], dual: &[f64]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for (phi, c) in features.iter().zip(dual) {
        for (entry, x) in sum.iter_mut().zip(phi) {
            *entry += c * x;
        }
    }
    sum
}

fn main() -> Result<(), Error> {
    let control = Control::new();
    let settings = Settings { tol: Some(0.001), ..Settings::default() };
    let mut sets = Vec::new();
    for points in SETS {
        let features: Vec<[f64; 3]> = points.iter().map(|&(x, y, _)| [x, y, 1.0]).collect();
        let dot = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let values: Vec<f64> =
            features.iter().flat_map(|a| features.iter().map(move |b| dot(a, b))).collect();
        let gram = Gram::new(&values, 0.0, vec![0.0; points.len()])?;
        let space = VersionSpace::new(gram, points.iter().map(|point| point.2).collect())?;

        let (start, _) = feasible_point(&space, 0, &control)?;
        let towards: Vec<f64> = (0..points.len()).map(|i| (i as f64 + 1.0).sin()).collect();
        let mut ball = Ball::new(space.gram(), &start, &towards, &control)?;
        let position = vector(&features, &ball.position(0.0));
        let direction = vector(&features, &ball.direction());
        let bounces: Vec<String> = (0..30)
            .map(|_| {
                let wall = ball.reflect(space.gram()).0;
                format!("[{wall}, {:?}]", vector(&features, &ball.position(0.0)))
            })
            .collect();

        let outcome = run(&space, &settings, &control)?;
        let center = vector(&features, &outcome.center.dual);
        sets.push(format!(
            "{{\"points\": {},\n\"position\": {position:?}, \"direction\": {direction:?},\n\"bounces\": [{}],\n\
             \"center\": {center:?}, \"error\": {:?}}}",
            format!("{points:?}").replace('(', "[").replace(')', "]"),
            bounces.join(",\n"),
            outcome.center.error
        ));
    }
    println!("[{}]", sets.join(",\n"));
    Ok(())
}
