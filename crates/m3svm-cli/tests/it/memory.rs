//! What would take more memory than there is: one sentence that says what and how much, before anything is allocated.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn the_budget_is_an_option_and_refuses_what_is_above_it() {
    let lab = Lab::iris();
    lab.write("far.svm", "1 24999999:1\n2 1:1\n");
    assert_snapshot!(lab.error("train far.svm --memory 2GB -o m"), @"error: the fit of 24999999 features for 2 scorers needs about 5.2 GB, and the memory budget is 2 GB (--memory)");
    assert_snapshot!(lab.error("train iris.csv --memory 1KB"), @"error: iris.csv: reading it needs more than the memory budget of 1 KB (--memory)");
    assert_snapshot!(lab.error("compare iris.csv --repeats 99999999999 --memory 1TiB"), @"error: a comparison over 5 folds in each of 99999999999 repeats needs about 352 TB, and the memory budget is 1.1 TB (--memory)");
    assert_snapshot!(lab.error("tune iris.csv --repeats 99999999999 --memory 1TiB"), @"error: a search of 25999999999740 fits needs about 1.46 PB, and the memory budget is 1.1 TB (--memory)");
    assert_eq!(lab.files(), ["far.svm", "iris.csv"]);
    lab.text("train iris.csv --memory 64MiB");
    let wrong = lab.run("train iris.csv --memory much");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("must be a number of bytes such as 2GB"), "{}", stderr(&wrong));
}

#[test]
fn of_many_classes_a_part_is_shown() {
    const CLASSES: usize = 1010;
    let lab = Lab::iris();
    let mut rows = "x,class\n".to_string();
    (0..CLASSES).for_each(|k| writeln!(rows, "{},c{k}\n{},c{k}", k * k % 997, k % 89).unwrap());
    lab.write("d.csv", &rows);
    lab.text("train d.csv --method ovr --delta 1 --max-iter 1 -o m");
    let text = lab.text("inspect m");
    assert!(text.contains("Smallest of the 509545 margins between classes"), "{text}");
    assert!(text.ends_with("  and 810 classes more; --json has all\n"), "{text}");
    let json = lab.json("inspect m --json");
    assert_eq!((&json["margins"], &json["support_counts"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    let smallest = json["smallest_margins"].as_array().unwrap();
    assert_eq!((smallest.len(), &smallest[0]["margin"]), (20, &json["min_margin"]));
    assert_eq!(json["largest_weights"].as_array().unwrap().len(), CLASSES);
}

/// The vector of what has been read asks for twice of what it holds, and the system refuses long before the budget is used up.
#[cfg(target_os = "linux")]
#[test]
fn what_the_system_refuses_while_a_file_is_read_is_a_sentence_too() {
    let lab = Lab::iris();
    // A terabyte that takes nothing of the disk.
    let sparse = |name: &str, start: &[u8]| {
        std::fs::write(lab.path(name), start).unwrap();
        std::fs::File::options().write(true).open(lab.path(name)).unwrap().set_len(1 << 40).unwrap();
    };
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (40000000000, 3), }";
    let header = format!("{text:<117}\n");
    sparse("d.npy", &[b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes()].concat());
    sparse("d.mat", &[0; 8]);
    sparse("d.arrows", &[0; 8]);
    for name in ["d.npy", "d.mat", "d.arrows"] {
        // What may be used of it is four fifths: a vector of a quarter of a gigabyte is within that when it wants to double.
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -v 600000; exec \"$0\" \"$@\""]).arg(assert_cmd::cargo::cargo_bin!("m3svm"));
        let format = &name[2..];
        command.args(["train", name, "--format", format, "--threads", "1"]).current_dir(lab.path("."));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let told = stderr(&output);
        let begins = format!("error: {name}: reading it needs more than the memory budget of ");
        assert!(told.starts_with(&begins) && told.ends_with(" (--memory)\n"), "{told}");
    }
}
