//! Every storage gives the same products, and tables by columns the same bits as their rows in every fit.

#![expect(clippy::unwrap_used, reason = "tests")]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::solver::{Adam, Lbfgs, Newton};
use crate::{AnySolver, Dataset, Method, Scaling, Spec};

/// [[1, 0, 2], [0, 3, 0]] in all storages.
fn all() -> [Features<'static>; 8] {
    let d64 = vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
    let d32: Vec<f32> = d64.iter().map(|x| *x as f32).collect();
    let (ptr, idx) = (vec![0usize, 2, 3], vec![2u32, 0, 1]);
    [
        Features::dense(d64, 2, 3).unwrap(),
        Features::dense(d32, 2, 3).unwrap(),
        Features::csr(ptr.clone(), idx.clone(), vec![2.0f64, 1.0, 3.0], 3).unwrap(),
        Features::csr(ptr, idx, vec![2.0f32, 1.0, 3.0], 3).unwrap(),
        Features::unpacked_columns(vec![mixed()], 3).unwrap(),
        Features::columns(mixed()).unwrap(),
        Features::unpacked_columns(
            vec![vec![vec![1.0f32, 0.0].into(), vec![0.0f32, 3.0].into(), vec![2.0f32, 0.0].into()]],
            3,
        )
        .unwrap(),
        Features::unpacked_columns(
            vec![
                vec![vec![1u64].into(), vec![false].into(), vec![2.0f32].into()],
                vec![Vec::<f64>::new().into(), Vec::<f64>::new().into(), Vec::<f64>::new().into()],
                vec![vec![0i8].into(), vec![3u8].into(), vec![0.0f64].into()],
            ],
            3,
        )
        .unwrap(),
    ]
}

#[test]
fn products_agree_with_hand_computation_in_every_storage() {
    for x in all() {
        let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 3×2
        let mut z = vec![1.0; 4];
        x.mul_add(0..2, &w, 2, &mut z);
        assert_eq!(z, [12.0, 15.0, 10.0, 13.0]);
        let mut back = vec![0.0; 6];
        x.t_mul_add(0..2, &[1.0, -1.0, 2.0, 0.5], 2, &mut back);
        assert_eq!(back, [1.0, -1.0, 6.0, 1.5, 2.0, -2.0]);
        let taken = x.take_rows(&[1, 0, 1]);
        assert_eq!((taken.rows(), taken.get(0, 1), taken.get(1, 2), taken.get(2, 0)), (3, 3.0, 2.0, 0.0));
        if let Some(back) = x.transposed() {
            let places = (0..2).flat_map(|i| (0..3).map(move |j| (i, j)));
            assert_eq!((back.rows(), back.cols()), (3, 2));
            places.for_each(|(i, j)| assert_eq!(back.get(j, i), x.get(i, j)));
        }
        assert_eq!(x.is_sparse(), x.transposed().is_some());
    }
}

#[test]
fn broken_matrices_are_refused_with_the_place() {
    let e = Features::dense(vec![1.0, f64::NAN], 2, 1).unwrap_err().to_string();
    assert_eq!(e, "row 2, feature 1: the value is NaN, expected a finite number");
    let e = Features::dense(vec![1.0], 2, 1).unwrap_err().to_string();
    assert_eq!(e, "feature values (rows times columns): expected 2, found 1");
    let e = Features::csr(vec![0, 1], vec![7], vec![1.0], 3).unwrap_err().to_string();
    assert_eq!(e, "sparse matrix: column index 7 is outside the 3 columns");
    let e = Features::csr(vec![0, 2, 1], vec![0], vec![1.0], 3).unwrap_err().to_string();
    assert_eq!(e, "sparse matrix: row pointers must start at 0 and never fall");
}

fn mixed() -> Vec<Column<'static>> {
    vec![vec![true, false].into(), vec![0i64, 3].into(), vec![2.0f64, 0.0].into()]
}

#[test]
fn every_type_of_column_is_widened() {
    let columns: Vec<Column<'_>> = vec![
        vec![-1.5f64].into(),
        vec![-1.5f32].into(),
        vec![i8::MIN].into(),
        vec![i16::MIN].into(),
        vec![i32::MIN].into(),
        vec![i64::MIN].into(),
        vec![u8::MAX].into(),
        vec![u16::MAX].into(),
        vec![u32::MAX].into(),
        vec![u64::MAX].into(),
        vec![true].into(),
    ];
    let x = Features::unpacked_columns(vec![columns], 11).unwrap();
    let two = |power: i32| 2.0f64.powi(power);
    let expected = [-1.5, -1.5, -two(7), -two(15), -two(31), -two(63), 255.0, 65535.0, two(32) - 1.0, two(64), 1.0];
    let mut row = [0.0; 11];
    x.write_rows(&[0], 11, &mut row);
    assert_eq!(row, expected);
    (0..11).for_each(|j| assert_eq!((x.get(0, j), &x.column(j)[..]), (expected[j], &expected[j..=j])));
}

#[test]
fn broken_columns_are_refused_with_the_first_place_in_the_order_of_rows() {
    let part = |a: Vec<f64>, b: Vec<f32>| vec![a.into(), b.into()];
    let refused = |parts: Vec<Vec<Column<'static>>>| Features::column_parts(parts, 2).unwrap_err().to_string();
    let late = part(vec![1.0, 1.0, f64::NAN], vec![1.0, f32::NEG_INFINITY, 1.0]);
    assert_eq!(refused(vec![late.clone()]), "row 2, feature 2: the value is -inf, expected a finite number");
    let first = part(vec![1.0], vec![1.0]);
    assert_eq!(refused(vec![first, late]), "row 3, feature 2: the value is -inf, expected a finite number");
    assert_eq!(refused(vec![part(vec![1.0], vec![])]), "values of a column: expected 1, found 0");
    assert_eq!(refused(vec![vec![vec![1.0].into()]]), "columns of a part: expected 2, found 1");
    let nothing = Features::columns(Vec::new()).unwrap();
    assert_eq!((nothing.rows(), nothing.cols()), (0, 0));
}

#[test]
fn only_small_tables_become_rows() {
    let stays = |rows: usize| {
        let x = Features::columns(vec![vec![1.0f64; rows].into(), vec![1.0f64; rows].into()]).unwrap();
        matches!(x.store, Store::Columns(_))
    };
    assert!(!stays(PACKED / 2) && stays(PACKED / 2 + 1));
}

/// The same numbers as rows and as columns in one piece or three.
fn pair(rows: &[f64], cols: usize, kind: StorageKind, parts: usize) -> (Features<'static>, Features<'static>) {
    let n = rows.len() / cols;
    let cuts: Vec<usize> = (0..=parts).map(|k| k * n / parts).collect();
    let column = |range: Range<usize>, j: usize| -> Column<'static> {
        let values = range.map(|i| rows[i * cols + j]);
        match kind {
            StorageKind::Single => values.map(|v| v as f32).collect::<Vec<_>>().into(),
            StorageKind::Mixed if j % 3 == 1 => values.map(|v| v as i16).collect::<Vec<_>>().into(),
            _ => values.collect::<Vec<_>>().into(),
        }
    };
    let parts = cuts.windows(2).map(|cut| (0..cols).map(|j| column(cut[0]..cut[1], j)).collect()).collect();
    let columns = Features::unpacked_columns(parts, cols).unwrap();
    let rows: Vec<f64> = (0..n).flat_map(|i| (0..cols).map(move |j| (i, j))).map(|(i, j)| columns.get(i, j)).collect();
    let rows = match kind {
        StorageKind::Single => Features::dense(rows.iter().map(|v| *v as f32).collect::<Vec<_>>(), n, cols),
        _ => Features::dense(rows, n, cols),
    };
    (rows.unwrap(), columns)
}

#[derive(Clone, Copy, Debug)]
enum StorageKind {
    Double,
    Single,
    Mixed,
}

/// Everything that a fit gives, bit by bit.
fn bits(spec: &Spec, x: Features<'_>, y: &[u32], classes: usize) -> Vec<u64> {
    let names = (0..classes).map(|k| k.to_string()).collect();
    let data = Dataset::new(x, y, names).unwrap();
    let model = spec.fit(&data).unwrap();
    let mut all = model.scores(data.x()).unwrap();
    all.extend(model.weights.iter().chain(&model.intercept));
    all.push(model.certificate().objective);
    all.extend(model.certificate().lower_bound);
    all.iter().map(|v| v.to_bits()).collect()
}

/// Numbers around a centre per class.
fn problem(seed: u64, n: usize, d: usize, classes: usize) -> (Vec<f64>, Vec<u32>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let y: Vec<u32> = (0..n).map(|i| (i * i + i / 3) as u32 % classes as u32).collect();
    let mut value = |i: usize, j: usize| {
        let centre = if j % classes == y[i] as usize { 1.0 } else { 0.0 };
        centre + 4.0 * (random.next_u32() as f64 / u32::MAX as f64) - 2.0
    };
    ((0..n * d).map(|at| value(at / d, at % d)).collect(), y)
}

#[test]
fn every_method_gives_the_same_bits_for_columns_as_for_rows() {
    let (rows, y) = problem(1, 700, 9, 4);
    for method in Method::ALL {
        for (kind, parts) in [(StorageKind::Double, 1), (StorageKind::Single, 1), (StorageKind::Mixed, 3)] {
            let (rows, columns) = pair(&rows, 9, kind, parts);
            let spec = Spec { max_iter: Some(12), ..method.spec().with_usual_lambda() };
            assert!(bits(&spec, rows, &y, 4) == bits(&spec, columns, &y, 4), "{} {kind:?}", method.name());
        }
    }
}

#[test]
fn every_solver_scaling_and_shape_gives_the_same_bits_for_columns_as_for_rows() {
    let adam = |batch| AnySolver::Adam(Adam { learning_rate: 0.01, batch });
    let newton = AnySolver::Newton(Newton::default());
    // The shapes that the Newton system solves in different ways: kept products, sums by class, outer products, conjugate gradients with
    // a kept and a new Gram matrix, the reduction to the row space. Three of them are larger than a window.
    let shapes = [(300, 5, 3), (45_000, 12, 3), (6000, 90, 3), (700, 240, 6), (2700, 200, 8), (40, 90, 3)];
    let usual = vec![AnySolver::Auto, newton];
    let others = vec![AnySolver::Lbfgs(Lbfgs::default()), adam(None), adam(Some(60))];
    let all = shapes.map(|shape| (shape, usual.clone())).into_iter().chain([(shapes[1], others)]);
    for (((n, d, c), solvers), seed) in all.zip(2..) {
        let (rows, y) = problem(seed, n, d, c);
        for solver in solvers {
            for (kind, scaling) in [
                (StorageKind::Double, Scaling::None),
                (StorageKind::Single, Scaling::Standard),
                (StorageKind::Mixed, Scaling::None),
            ] {
                let (rows, columns) = pair(&rows, d, kind, 2);
                let spec = Spec { solver, scaling, max_iter: Some(3), ..Spec::default().with_usual_lambda() };
                assert!(bits(&spec, rows, &y, c) == bits(&spec, columns, &y, c), "{n}x{d} {solver:?} {kind:?}");
            }
        }
    }
}
