//! The hard margin against the conic solver, its theorems, and what is said where there is none.

use std::ops::ControlFlow;

use m3svm::penalty::{Norm, Pairwise};
use m3svm::{AnyPenalty, Dataset, Features, Gamma, Kernel, Method, Model, Scaling, Separability, Spec, Stop, Verdict};

use crate::common::{Problem, Random, apart, none, pairwise};
use crate::program::{add_pairwise, hard_program};

fn spec(p: f64) -> Spec {
    Spec { hard_margin: true, penalty: pairwise(1.0, p), scaling: Scaling::None, ..Spec::default().with_usual_lambda() }
}

/// Clouds around the corners of a simplex, so far apart that nothing overlaps.
fn corners(seed: u64, n: usize, d: usize, c: usize) -> Problem {
    let mut random = Random::new(seed);
    let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
    let corner = |k: u32, j: usize| if k as usize == j { 9.0 } else { 0.0 };
    let x = y.iter().flat_map(|k| (0..d).map(|j| corner(*k, j) + random.normal()).collect::<Vec<f64>>()).collect();
    Problem { n, d, c, x, y, weights: None }
}

fn separable() -> Vec<Problem> {
    let mut iris = Problem::iris().standardised();
    let rows: Vec<usize> = (0..iris.n).filter(|i| iris.y[*i] != 2).collect();
    iris = iris.rows(&rows);
    iris.c = 2;
    vec![corners(3, 40, 2, 2), corners(8, 60, 5, 4), Problem::random(4, 24, 40, 3), iris]
}

fn separability(problem: &Problem) -> Separability {
    Separability::of(&problem.dense(), true, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn it_is_the_optimum_of_the_conic_solver() {
    let mut failures = Vec::new();
    for (number, problem) in separable().iter().enumerate() {
        for p in [1.0, 2.0, 4.0, f64::INFINITY] {
            for intercept in [true, false] {
                // Without intercepts clouds need not be apart.
                if !intercept && number != 2 {
                    continue;
                }
                let mut program = hard_program(problem, intercept);
                add_pairwise(&mut program, problem, &Pairwise::new(Norm::L2, 1.0, p));
                let (value, _) = program.solve();
                let expected = if p.is_infinite() { value.sqrt() } else { value.powf(1.0 / p) };
                for data in [problem.dense(), problem.csr()] {
                    let model = Spec { intercept, ..spec(p) }.fit(&data).unwrap();
                    let certificate = model.certificate();
                    let label =
                        format!("problem {number} p {p} intercept {intercept}: {certificate:?}, conic {expected}");
                    let bound = certificate.lower_bound.unwrap();
                    if apart(certificate.objective / expected, 1.0) > 1e-6
                        || bound > certificate.objective
                        || bound > expected * (1.0 + 1e-7)
                        || !certificate.relative_gap().is_some_and(|gap| gap <= 1e-6)
                    {
                        failures.push(label.clone());
                    }
                    // What is proven is a margin that every row keeps.
                    assert_eq!(model.train_accuracy(), 1.0, "{label}");
                    if p.is_infinite() {
                        assert!(apart(2.0 / model.min_margin().0, certificate.objective) < 1e-6, "{label}");
                    }
                }
            }
        }
    }
    none(&failures);
}

#[test]
fn large_powers_tend_to_the_largest_margin() {
    for problem in separable() {
        let limit = spec(f64::INFINITY).fit(&problem.dense()).unwrap();
        let near = spec(64.0).fit(&problem.dense()).unwrap();
        let (least, most) = (near.min_margin().0, limit.min_margin().0);
        assert!(least <= most * (1.0 + 1e-6) && least >= 0.95 * most, "{least} {most}");
    }
}

/// Rows of every class at the corners of a simplex: the margin of each pair is the length of an edge.
#[test]
fn the_margin_of_single_points_is_their_distance() {
    let x = vec![2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0];
    let data =
        Dataset::new(Features::dense(x, 3, 3).unwrap(), vec![0, 1, 2], ["a", "b", "c"].map(String::from).to_vec());
    let data = data.unwrap();
    for p in [1.0, 2.0, 8.0, f64::INFINITY] {
        let model = spec(p).fit(&data).unwrap();
        // By symmetry wₖ = t·xₖ with lead 4t = 1: ‖wₖ − wₗ‖ = √8/4. Two classes alone would have √8.
        model.margins().iter().filter(|m| m.is_finite()).for_each(|m| {
            assert!(apart(*m, 2.0 * 4.0 / 8f64.sqrt()) < 1e-6 || *m == 0.0, "{p}: {m}");
        });
    }
}

#[test]
fn kernels_have_it_too() {
    let problem = Problem::random(5, 36, 3, 3);
    let kernel = Kernel::Rbf { gamma: Gamma::Value(0.5) };
    let model = Spec { kernel, ..spec(2.0) }.fit(&problem.dense()).unwrap();
    assert!(model.certificate().relative_gap().unwrap() <= 1e-6, "{:?}", model.certificate());
    assert_eq!(model.train_accuracy(), 1.0);
}

#[test]
fn it_survives_a_model_file_and_stops_as_every_fit() {
    let problem = &separable()[0];
    let model = spec(4.0).fit(&problem.dense()).unwrap();
    assert_eq!(model.training().stop, Stop::Converged, "{:?}", model.certificate());
    assert_eq!(Model::from_bytes(&model.to_bytes().unwrap()).unwrap(), model);
}

/// A combination is what it says it is: it cancels, up to the rounding of this sum.
fn cancels(problem: &Problem, verdict: &Verdict) {
    let Verdict::NotSeparable { combination } = verdict else { panic!("{verdict:?}") };
    let (d, c) = (problem.d, problem.c);
    let (mut sum, mut size) = (vec![0.0; (d + 1) * c], 0.0f64);
    for demand in combination {
        let (row, own) = (demand.row as usize, problem.y[demand.row as usize] as usize);
        assert!(demand.weight > 0.0 && demand.rival as usize != own);
        let point = problem.x[row * d..(row + 1) * d].iter().chain(&[1.0]);
        for (j, v) in point.enumerate() {
            sum[j * c + own] += demand.weight * v;
            sum[j * c + demand.rival as usize] -= demand.weight * v;
            size = size.max(v.abs());
        }
    }
    let off = sum.iter().fold(0.0f64, |top, s| top.max(s.abs()));
    assert!(off <= 1e-9 * size, "{off} {size}");
}

#[test]
fn what_overlaps_is_proven_to_overlap() {
    for problem in [Problem::iris(), Problem::random(1, 60, 3, 3), Problem::clouds(3, 80, 2, 2, 0.3)] {
        let found = separability(&problem);
        assert_eq!(found.all.is_separable(), Some(false), "{found:?}");
        cancels(&problem, &found.all);
        found.pairs.iter().filter(|pair| pair.verdict.is_separable() == Some(false)).for_each(|pair| {
            cancels(&problem, &pair.verdict);
        });
        // Without the rows that are named, the others are told apart.
        let gone = found.removal.unwrap();
        let rest: Vec<usize> = (0..problem.n).filter(|i| !gone.contains(&(*i as u32))).collect();
        assert!(!gone.is_empty());
        assert_eq!(separability(&problem.rows(&rest)).all, Verdict::Separable);
        let error = spec(4.0).fit(&problem.dense()).unwrap_err().to_string();
        assert!(error.starts_with("no hard margin: ") && error.contains("cannot be told apart"), "{error}");
    }
    let iris = separability(&Problem::iris());
    let open: Vec<Option<bool>> = iris.pairs.iter().map(|pair| pair.verdict.is_separable()).collect();
    assert_eq!(open, [Some(true), Some(true), Some(false)]);
}

#[test]
fn what_is_apart_is_proven_to_be() {
    for problem in separable() {
        let found = separability(&problem);
        assert_eq!(found.all, Verdict::Separable);
        assert!(found.pairs.iter().all(|pair| pair.verdict == Verdict::Separable));
        assert_eq!(found.removal, Some(Vec::new()));
    }
}

/// Every two of three classes are apart, but one between the others along a line is the largest score of no linear scorer of its own only if
/// lines cross; in the plane, three classes in alternating sectors are.
#[test]
fn classes_can_be_apart_by_two_and_not_all_at_once() {
    // Points of a circle: class k at the angles 120k and, near the centre, on the other side of the centre.
    let angle = |degrees: f64, r: f64| [r * degrees.to_radians().cos(), r * degrees.to_radians().sin()];
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for k in 0..3u32 {
        let turn = 120.0 * f64::from(k);
        for (degrees, r) in [(0.0, 1.0), (100.0, 3.0)] {
            x.extend(angle(turn + degrees, r));
            y.push(k);
        }
    }
    let problem = Problem { n: 6, d: 2, c: 3, x, y, weights: None };
    let found = separability(&problem);
    if found.pairs.iter().all(|pair| pair.verdict == Verdict::Separable) && found.all.is_separable() == Some(false) {
        cancels(&problem, &found.all);
    }
    assert!(found.all.is_separable().is_some(), "{found:?}");
}

#[test]
fn equal_rows_of_two_classes_are_named() {
    let data = Dataset::from_labels(
        Features::dense(vec![0.0, 1.0, 1.0, 3.0, -0.0], 5, 1).unwrap(),
        &["low", "low", "high", "high", "low"],
    )
    .unwrap();
    let found = Separability::of(&data, true, &mut |_| ControlFlow::Continue(())).unwrap();
    let sentence = found.sentence(&data);
    assert!(sentence.ends_with("row 3 (high) and row 2 (low) are equal"), "{sentence}");
    assert_eq!(found.removal.map(|rows| rows.len()), Some(1));
}

/// Two hulls that touch in a point which is no row: nothing in floating point can tell this from a tiny gap.
#[test]
fn what_touches_is_left_open_with_a_number() {
    let mut random = Random::new(3);
    let (a, b) = (random.normals(2), random.normals(2));
    let middle: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.3 * a + 0.7 * b).collect();
    let x = [a, b, middle].concat();
    let data = Dataset::from_labels(Features::dense(x, 3, 2).unwrap(), &["out", "out", "in"]).unwrap();
    let found = Separability::of(&data, true, &mut |_| ControlFlow::Continue(())).unwrap();
    match found.all {
        Verdict::Undecided { margin_at_most } => assert!(margin_at_most < 1e-6, "{margin_at_most}"),
        // Rounding of the middle can have moved it to either side, and then a proof is a proof.
        decided => assert!(decided == Verdict::Separable || decided.is_separable() == Some(false)),
    }
}

#[test]
fn one_hot_columns_depend_on_each_other_and_do_not_hinder_a_proof() {
    let mut random = Random::new(11);
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for i in 0..200 {
        let (one, two) = (random.below(4), random.below(3));
        x.extend((0..4).map(|k| f64::from(u8::from(k == one))));
        x.extend((0..3).map(|k| f64::from(u8::from(k == two))));
        x.extend([7.0, random.normal()]);
        labels.push(if i % 2 == 0 { "a" } else { "b" });
    }
    let data = Dataset::from_labels(Features::dense(x, 200, 9).unwrap(), &labels).unwrap();
    let found = Separability::of(&data, true, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(found.all.is_separable(), Some(false), "{:?}", found.all);
}

#[test]
fn other_methods_and_penalties_are_refused() {
    for method in [Method::Lr, Method::Cs, Method::Ovr, Method::Ism3] {
        let error = Spec { hard_margin: true, ..method.spec().with_usual_lambda() }.check().unwrap_err().to_string();
        assert!(error.starts_with("`hard-margin` must go with"), "{error}");
    }
    let l1 = AnyPenalty::Pairwise(Pairwise::new(Norm::L1, 1.0, 2.0));
    assert!(Spec { hard_margin: true, penalty: l1, ..Spec::default().with_usual_lambda() }.check().is_err());
}
