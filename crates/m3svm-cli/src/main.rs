//! The `m3svm` program.

fn main() {}
