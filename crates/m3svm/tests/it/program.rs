//! The problems of the library written as conic programs, for a solver that shares no code with it.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT as Cone};
use m3svm::penalty::{Norm, Pairwise};

use crate::common::Problem;

/// Σ of coefficient × variable, plus a constant.
pub(crate) type Affine = (Vec<(usize, f64)>, f64);

/// minimise ½xᵀPx + qᵀx with affine expressions of x in cones.
#[derive(Default)]
pub(crate) struct Program {
    linear: Vec<f64>,
    /// Upper triangle of P.
    quadratic: Vec<(usize, usize, f64)>,
    rows: Vec<Affine>,
    cones: Vec<Cone<f64>>,
}

impl Program {
    /// New variables with a cost each; returns the number of the first.
    pub(crate) fn variables(&mut self, count: usize, cost: f64) -> usize {
        let first = self.linear.len();
        self.linear.resize(first + count, cost);
        first
    }

    pub(crate) fn cost(&mut self, variable: usize, cost: f64) {
        self.linear[variable] += cost;
    }

    /// Adds `weight·xᵢxⱼ` to the cost.
    pub(crate) fn product(&mut self, i: usize, j: usize, weight: f64) {
        let weight = if i == j { 2.0 * weight } else { weight };
        self.quadratic.push((i.min(j), i.max(j), weight));
    }

    fn constrain(&mut self, rows: Vec<Affine>, cone: Cone<f64>) {
        self.rows.extend(rows);
        self.cones.push(cone);
    }

    /// expression = 0.
    pub(crate) fn zero(&mut self, row: Affine) {
        self.constrain(vec![row], Cone::ZeroConeT(1));
    }

    /// expressions ≥ 0.
    pub(crate) fn nonnegative(&mut self, rows: Vec<Affine>) {
        let count = rows.len();
        self.constrain(rows, Cone::NonnegativeConeT(count));
    }

    /// first ≥ ‖rest‖₂.
    pub(crate) fn cone(&mut self, rows: Vec<Affine>) {
        let count = rows.len();
        self.constrain(rows, Cone::SecondOrderConeT(count));
    }

    /// x^a·y^(1−a) ≥ |z|.
    pub(crate) fn power(&mut self, x: Affine, y: Affine, z: Affine, a: f64) {
        self.constrain(vec![x, y, z], Cone::PowerConeT(a));
    }

    /// The minimum and where it is.
    pub(crate) fn solve(self) -> (f64, Vec<f64>) {
        let (m, n) = (self.rows.len(), self.linear.len());
        let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (terms, _)) in self.rows.iter().enumerate() {
            for (variable, weight) in terms {
                i.push(row);
                j.push(*variable);
                v.push(-weight);
            }
        }
        let a = CscMatrix::new_from_triplets(m, n, i, j, v);
        let b: Vec<f64> = self.rows.iter().map(|(_, constant)| *constant).collect();
        let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
        for (row, column, weight) in &self.quadratic {
            i.push(*row);
            j.push(*column);
            v.push(*weight);
        }
        let p = CscMatrix::new_from_triplets(n, n, i, j, v);
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: 1e-10,
            tol_gap_rel: 1e-10,
            tol_feas: 1e-10,
            ..DefaultSettings::default()
        };
        let mut solver = DefaultSolver::new(&p, &self.linear, &a, &b, &self.cones, settings).unwrap();
        solver.solve();
        let solution = solver.solution;
        assert!(matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved), "{:?}", solution.status);
        (solution.obj_val, solution.x)
    }
}

/// W and b as variables: entry (j, k) of the flat parameters is variable j·c + k.
pub(crate) fn parameters(program: &mut Program, problem: &Problem, intercept: bool) {
    program.variables((problem.d + usize::from(intercept)) * problem.c, 0.0);
}

/// z_y − zₖ of a row.
pub(crate) fn lead(problem: &Problem, intercept: bool, i: usize, k: usize) -> Vec<(usize, f64)> {
    let (d, c, y) = (problem.d, problem.c, problem.y[i] as usize);
    let row = &problem.x[i * d..(i + 1) * d];
    let one = intercept.then_some(1.0);
    row.iter().copied().chain(one).enumerate().flat_map(|(j, v)| [(j * c + y, v), (j * c + k, -v)]).collect()
}

/// wₖ − wₗ, entry by entry.
pub(crate) fn difference(problem: &Problem, k: usize, l: usize) -> Vec<Affine> {
    let c = problem.c;
    (0..problem.d).map(|j| (vec![(j * c + k, 1.0), (j * c + l, -1.0)], 0.0)).collect()
}

pub(crate) fn pairs(c: usize) -> Vec<(usize, usize)> {
    (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l))).collect()
}

/// ε‖θ‖², the start of every program.
fn ridged(problem: &Problem, epsilon: f64, intercept: bool) -> Program {
    let mut program = Program::default();
    parameters(&mut program, problem, intercept);
    let size = program.linear.len();
    (0..size).for_each(|j| program.product(j, j, epsilon));
    program
}

/// Σ ωᵢ Σ_{k≠y} [1 − (z_y − zₖ)]₊ + ε‖θ‖².
pub(crate) fn hinge_program(problem: &Problem, epsilon: f64, intercept: bool) -> Program {
    let mut program = ridged(problem, epsilon, intercept);
    for i in 0..problem.n {
        let weight = problem.weights.as_ref().map_or(1.0, |w| w[i]);
        for k in (0..problem.c).filter(|k| *k != problem.y[i] as usize) {
            let slack = program.variables(1, weight);
            let mut terms = lead(problem, intercept, i, k);
            terms.push((slack, 1.0));
            program.nonnegative(vec![(terms, -1.0), (vec![(slack, 1.0)], 0.0)]);
        }
    }
    program
}

/// Σ ωᵢ max(0, mean of the k largest 1[j≠y] − (z_y − zⱼ)) + ε‖θ‖²: `s ≥ 0`, `s ≥ t + Σⱼ ξⱼ/k`, `ξⱼ ≥ 0`, `ξⱼ ≥ aⱼ − t`.
pub(crate) fn top_k_program(problem: &Problem, k: usize, epsilon: f64, intercept: bool) -> Program {
    let mut program = ridged(problem, epsilon, intercept);
    for i in 0..problem.n {
        let weight = problem.weights.as_ref().map_or(1.0, |w| w[i]);
        let (s, t) = (program.variables(1, weight), program.variables(1, 0.0));
        let first = program.variables(problem.c, 0.0);
        let mut mean = vec![(s, 1.0), (t, -1.0)];
        for j in 0..problem.c {
            let wrong = j != problem.y[i] as usize;
            let mut terms = if wrong { lead(problem, intercept, i, j) } else { Vec::new() };
            terms.extend([(first + j, 1.0), (t, 1.0)]);
            program.nonnegative(vec![(terms, if wrong { -1.0 } else { 0.0 }), (vec![(first + j, 1.0)], 0.0)]);
            mean.push((first + j, -1.0 / k as f64));
        }
        program.nonnegative(vec![(mean, 0.0), (vec![(s, 1.0)], 0.0)]);
    }
    program
}

/// Adds λ Σ ‖wₖ − wₗ‖ᵖ.
pub(crate) fn add_pairwise(program: &mut Program, problem: &Problem, penalty: &Pairwise) {
    let only = |v: usize, weight: f64, constant: f64| (vec![(v, weight)], constant);
    if penalty.p.is_infinite() {
        // t ≥ ‖u‖ for all pairs; then λt².
        let t = program.variables(1, 0.0);
        pairs(problem.c)
            .into_iter()
            .for_each(|(k, l)| program.cone([vec![only(t, 1.0, 0.0)], difference(problem, k, l)].concat()));
        return program.product(t, t, penalty.lambda);
    }
    for (k, l) in pairs(problem.c) {
        let u = difference(problem, k, l);
        // t ≥ ‖u‖.
        let t = program.variables(1, 0.0);
        match penalty.norm {
            Norm::L2 => program.cone([vec![only(t, 1.0, 0.0)], u].concat()),
            Norm::L1 => {
                let mut sum = only(t, 1.0, 0.0);
                for (terms, _) in u {
                    let part = program.variables(1, 0.0);
                    sum.0.push((part, -1.0));
                    let flipped = terms.iter().map(|(v, w)| (*v, -w)).collect();
                    for mut side in [terms, flipped] {
                        side.push((part, 1.0));
                        program.nonnegative(vec![(side, 0.0)]);
                    }
                }
                program.nonnegative(vec![sum]);
            }
        }
        if penalty.p == 1.0 {
            program.cost(t, penalty.lambda);
        } else if penalty.p == 2.0 {
            program.product(t, t, penalty.lambda);
        } else if penalty.p == 4.0 {
            // s ≥ t²: ‖(2t, s − 1)‖ ≤ s + 1; then λs².
            let s = program.variables(1, 0.0);
            program.cone(vec![only(s, 1.0, 1.0), only(t, 2.0, 0.0), only(s, 1.0, -1.0)]);
            program.product(s, s, penalty.lambda);
        } else {
            // s^(1/p)·1 ≥ t.
            let s = program.variables(1, penalty.lambda);
            program.power(only(s, 1.0, 0.0), (Vec::new(), 1.0), only(t, 1.0, 0.0), 1.0 / penalty.p);
        }
    }
}

/// Every row leads every other class by 1; what the weights pay is still to be added.
pub(crate) fn hard_program(problem: &Problem, intercept: bool) -> Program {
    let mut program = Program::default();
    parameters(&mut program, problem, intercept);
    for i in 0..problem.n {
        for k in (0..problem.c).filter(|k| *k != problem.y[i] as usize) {
            program.nonnegative(vec![(lead(problem, intercept, i, k), -1.0)]);
        }
    }
    program
}
