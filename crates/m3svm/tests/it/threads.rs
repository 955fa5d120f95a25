//! The same bits whatever the number of threads, and whatever the run.

use m3svm::solver::{Adam, Lbfgs};
use m3svm::{AnySolver, Dataset, Method, Model, Spec};

use crate::common::{Problem, hinge, newton, pairwise, spec, theta, top_k};

fn bits(model: &Model) -> Vec<u64> {
    let certificate = model.certificate();
    let mut all = theta(model);
    all.push(certificate.objective);
    all.extend(certificate.lower_bound);
    all.iter().map(|v| v.to_bits()).collect()
}

fn fit(spec: &Spec, data: &Dataset<'_>, threads: usize) -> Model {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| spec.fit(data)).unwrap()
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    // 6000 rows of 30 (20 stored) numbers: split into several groups in either storage.
    let problem = Problem::random(101, 6000, 30, 4).weighted(9);
    let solvers = [
        (newton(), 500),
        (AnySolver::Lbfgs(Lbfgs::default()), 40),
        (AnySolver::Adam(Adam::default()), 15),
        (AnySolver::Adam(Adam { learning_rate: 0.01, batch: Some(500) }), 2),
    ];
    for data in [problem.dense(), problem.csr(), problem.dense32()] {
        for (solver, steps) in solvers {
            let spec = Spec { solver, max_iter: Some(steps), ..spec(hinge(0.01), pairwise(1e-3, 4.0)) };
            let one = bits(&fit(&spec, &data, 1));
            for threads in [2, 3, 5] {
                let many = bits(&fit(&spec, &data, threads));
                assert!(one == many, "{solver:?}, {threads} threads, sparse {}", data.x().is_sparse());
            }
        }
    }
}

/// Wide enough for conjugate gradients, with enough rows for both of their preconditioners.
#[test]
fn the_number_of_threads_changes_no_bit_of_conjugate_gradients() {
    let problem = Problem::random(107, 2600, 420, 3);
    for loss in [hinge(0.01), top_k(1, 0.01)] {
        let spec = Spec { max_iter: Some(8), ..spec(loss, pairwise(1e-3, 4.0)) };
        let one = bits(&fit(&spec, &problem.dense(), 1));
        for threads in [2, 5] {
            assert!(one == bits(&fit(&spec, &problem.dense(), threads)), "{loss:?}, {threads} threads");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_top_k_fit() {
    let problem = Problem::random(104, 3000, 20, 4).weighted(9);
    for (data, k) in [(problem.dense(), 1), (problem.csr(), 2)] {
        let spec = spec(top_k(k, 0.0), pairwise(1e-2, 4.0));
        let one = bits(&fit(&spec, &data, 1));
        assert!(one == bits(&fit(&spec, &data, 3)), "k {k}, sparse {}", data.x().is_sparse());
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_decomposition() {
    for problem in [Problem::random(105, 1500, 30, 4).weighted(9), Problem::random(106, 500, 300, 6)] {
        for (method, data) in
            [Method::Ovr, Method::Ovo].into_iter().flat_map(|m| [(m, problem.dense()), (m, problem.csr())])
        {
            let one = bits(&fit(&method.spec().with_usual_lambda(), &data, 1));
            for threads in [2, 5] {
                let sparse = data.x().is_sparse();
                assert!(
                    one == bits(&fit(&method.spec().with_usual_lambda(), &data, threads)),
                    "{method:?}, {threads} threads, sparse {sparse}"
                );
            }
        }
    }
}

fn assert_same_on_any_number_of_threads(data: &Dataset<'_>) {
    let spec = spec(hinge(0.01), pairwise(1e-2, 4.0));
    let one = bits(&fit(&spec, data, 1));
    for threads in [2, 3, 5] {
        assert!(one == bits(&fit(&spec, data, threads)), "{threads} threads");
    }
}

#[test]
fn the_reduction_to_the_row_space_does_not_depend_on_the_threads() {
    let data = Problem::random(107, 250, 700, 5).dense();
    assert_same_on_any_number_of_threads(&data);
}

#[test]
fn a_large_factorisation_does_not_depend_on_the_threads() {
    // (80 + 1)·(5 − 1) = 324 unknowns: large enough for a parallel factorisation.
    let data = Problem::random(102, 1000, 80, 5).dense();
    assert_same_on_any_number_of_threads(&data);
}

#[test]
fn sparse_data_with_many_features_does_not_depend_on_the_threads() {
    // 12,004 parameters: slopes are pulled back by columns, and the systems are solved by iteration.
    let data = Problem::random(104, 300, 3000, 4).csr();
    let spec = Spec { max_iter: Some(5), ..spec(hinge(0.01), pairwise(1e-2, 4.0)) };
    let one = bits(&fit(&spec, &data, 1));
    for threads in [2, 3] {
        assert!(one == bits(&fit(&spec, &data, threads)), "{threads} threads");
    }
}

#[test]
fn mini_batches_follow_the_seed() {
    let data = Problem::random(103, 90, 3, 3).dense();
    let solver = AnySolver::Adam(Adam { learning_rate: 0.05, batch: Some(7) });
    let run = |seed| {
        let spec = Spec { solver, seed, max_iter: Some(30), ..spec(hinge(0.5), pairwise(1e-2, 2.0)) };
        bits(&spec.fit(&data).unwrap())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
