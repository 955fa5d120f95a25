//! From a file to a prediction. Give it any table with labels; without one it reads the few rows below.
//!
//!     cargo run --release -p m3svm-io --example from_file -- train.csv.gz
#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use m3svm::Spec;
use m3svm_io::{ReadOptions, read, read_from};

const FLOWERS: &str = "length,width,species\n1.4,0.2,setosa\n1.3,0.3,setosa\n4.5,1.5,versicolor\n4.1,1.3,versicolor\n\
                       5.9,2.1,virginica\n5.6,2.4,virginica\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = ReadOptions::default();
    let table = match std::env::args_os().nth(1) {
        Some(path) => read(path.as_ref(), &options)?,
        None => read_from(FLOWERS.as_bytes(), "flowers.csv".as_ref(), &options)?,
    };
    let data = table.into_dataset()?;
    let model = Spec::default().fit(&data)?;
    let classes = model.predict(data.x())?;
    println!("row 1 is {}", model.classes()[classes[0] as usize]);
    println!("{:.0} % of {} rows are right", 100.0 * model.train_accuracy(), data.rows());
    Ok(())
}
