//! Words of two languages by a kernel of strings, from their Gram matrix: `cargo run --release --example gram`.
//!
//! The kernel counts common pairs of letters. The engine gets its matrix alone, and a softness, the variance of Gaussian
//! noise on every label. It prints the predictions for other words, and the evidence of the softness.

use bayespoint::{Control, Error, EvidenceSettings, Gram, Settings, VersionSpace, evidence, run};

const WORDS: [(&str, i8); 12] = [
    ("through", 1),
    ("thought", 1),
    ("weather", 1),
    ("whether", 1),
    ("nothing", 1),
    ("knowing", 1),
    ("schreiben", -1),
    ("zwischen", -1),
    ("deutsch", -1),
    ("schön", -1),
    ("zeitung", -1),
    ("fenster", -1),
];

/// Returns the share of common pairs of letters: 1 for equal words.
fn kernel(a: &str, b: &str) -> f64 {
    let pairs =
        |word: &str| -> Vec<(char, char)> { word.chars().zip(word.chars().skip(1)).collect() };
    let common = |a: &str, b: &str| {
        let others = pairs(b);
        pairs(a).iter().map(|x| others.iter().filter(|y| x == *y).count()).sum::<usize>() as f64
    };
    common(a, b) / (common(a, a) * common(b, b)).sqrt()
}

fn main() -> Result<(), Error> {
    let control = Control::new();
    let words: Vec<&str> = WORDS.iter().map(|word| word.0).collect();
    let labels: Vec<i8> = WORDS.iter().map(|word| word.1).collect();
    let values: Vec<f64> = words.iter().flat_map(|a| words.iter().map(|b| kernel(a, b))).collect();
    for softness in [0.01, 0.1, 1.0] {
        let gram = Gram::new(&values, 0.0, vec![softness; words.len()])?;
        let space = VersionSpace::new(gram, labels.clone())?;
        let outcome = run(&space, &Settings { tol: Some(0.02), ..Settings::default() }, &control)?;
        let volume = evidence(&space, &EvidenceSettings::default(), &control)?;
        println!(
            "softness {softness}: ln evidence {:.2} ± {:.2}, center to {:.3} rad",
            volume.values[0], volume.errors[0], outcome.center.error
        );
        for word in ["thing", "brother", "menschen", "zeichen"] {
            let value: f64 = words
                .iter()
                .zip(&outcome.center.dual)
                .map(|(known, c)| c * kernel(known, word))
                .sum();
            println!("  {word}: {value:+.3}");
        }
    }
    Ok(())
}
