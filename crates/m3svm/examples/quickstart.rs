//! From arrays to a prediction and a proof that it comes from the best model there is.
//!
//!     cargo run --release -p m3svm --example quickstart
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use m3svm::{Dataset, Features, Result, Spec};

fn main() -> Result<()> {
    // Six flowers: petal length and width in centimetres, row by row.
    let petals = vec![1.4, 0.2, 1.3, 0.3, 4.5, 1.5, 4.1, 1.3, 5.9, 2.1, 5.6, 2.4];
    let species = ["setosa", "setosa", "versicolor", "versicolor", "virginica", "virginica"];

    let data = Dataset::from_labels(Features::dense(petals, 6, 2)?, &species)?;
    let model = Spec::default().fit(&data)?;
    for class in model.predict(&Features::dense(vec![1.5, 0.4, 5.7, 2.2], 2, 2)?)? {
        println!("{}", model.classes()[class as usize]);
    }
    println!("smallest margin {:.3}", model.min_margin().0);
    println!("at most {:.0e} above the optimum", model.certificate().relative_gap().unwrap_or(f64::INFINITY));
    Ok(())
}
