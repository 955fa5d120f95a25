//! Options reach the core.

use crate::Lab;

#[test]
fn options_become_the_spec() {
    let lab = Lab::iris();
    let spec = |options: &str| {
        lab.text(&format!("train iris.csv -o m --max-iter 2 {options}"));
        lab.json("inspect m --json")["spec"].take()
    };
    let it = spec("--p 3 --lambda 0.5 --delta 0.1 --epsilon 1e-5 --tol 1e-4 --seed 7");
    assert_eq!((&it["penalty"]["p"], &it["penalty"]["lambda"]), (&3.0.into(), &0.5.into()));
    assert_eq!((&it["loss"]["delta"], &it["epsilon"]), (&0.1.into(), &1e-5.into()));
    assert_eq!((&it["tol"], &it["seed"], &it["max_iter"]), (&1e-4.into(), &7.into(), &2.into()));
    let it = spec("--method pairwise-lr --penalty l1 --scale minmax --no-intercept");
    assert_eq!((&it["loss"]["name"], &it["penalty"]["norm"]), (&"pairwise-logistic".into(), &"l1".into()));
    assert_eq!((&it["scaling"], &it["intercept"]), (&"minmax".into(), &false.into()));
    let it = spec("--solver adam --learning-rate 0.1 --batch 10 --penalty ridge --lambda 2");
    assert_eq!((&it["solver"]["learning_rate"], &it["solver"]["batch"]), (&0.1.into(), &10.into()));
    assert_eq!((&it["penalty"]["name"], &it["penalty"]["lambda"]), (&"ridge".into(), &2.0.into()));
    let it = spec("--penalty none --class-weight balanced");
    assert_eq!((&it["penalty"]["name"], &it["class_weight"]), (&"none".into(), &"balanced".into()));
    let it = spec("--class-weight setosa=2,virginica=0.5");
    assert_eq!(it["class_weight"]["each"]["virginica"], 0.5);
}

#[test]
fn columns_can_be_chosen() {
    let lab = Lab::iris();
    lab.write("t.csv", "kind,w,a,b\nx,1,0,5\ny,2,1,6\nx,1,0.5,7\n");
    let names = |options: &str| {
        lab.text(&format!("train t.csv -o m {options}"));
        lab.json("inspect m --json")["feature_names"].to_string()
    };
    assert_eq!(names("--label kind --weight-column w"), r#"["a","b"]"#);
    assert_eq!(names("--label 0 --features b,a"), r#"["b","a"]"#);
    assert_eq!(names("--label -4 --weight-column 1"), r#"["a","b"]"#);
}

#[test]
fn a_warm_start_at_the_optimum_is_quick() {
    let lab = Lab::trained();
    let cold = lab.json("train iris.csv --lambda 0.001 --json --solver lbfgs");
    let warm = lab.json("train iris.csv --lambda 0.001 --json --solver lbfgs --warm-start iris.m3svm");
    assert!(warm["iterations"].as_u64() < cold["iterations"].as_u64(), "{warm} {cold}");
    lab.text("train iris.csv --warm-start iris.m3svm -o better.m3svm");
}
