//! The plan of a fit in words.

use super::{
    Binary, Choice, Decision, Plan, SystemPlan, Written, ascends, binary, binary_descends, pairs_by_products, reduces,
    solver,
};
use crate::dataset::Dataset;
use crate::engine::{InMemory, Rows, Sizes};
use crate::error::Result;
use crate::memory;
use crate::problem::Problem;
use crate::scheme::Scheme;
use crate::solver::AnySolver;
use crate::spec::Spec;

impl Plan {
    /// What [`Spec::fit`] will do with such data; `warm`, if it begins where another fit has ended. Refuses what that refuses.
    pub fn of(spec: &Spec, data: &Dataset<'_>, warm: bool) -> Result<Self> {
        spec.check_for(data.classes().len())?;
        memory::check_fit(spec, data)?;
        let task = spec.joint_task(data)?;
        let risk = spec.risk(&task, task.x);
        let (sizes, classes) = (InMemory::new(&risk).sizes(), data.classes().len());
        let mut plan = Self { decisions: Vec::new() };
        plan.problems(spec.scheme, classes);
        match spec.scheme {
            Scheme::Joint => plan.joint(spec, &risk.problem, &sizes),
            Scheme::OneVsRest => plan.of_two_classes(spec, &risk.problem, &sizes, warm),
            Scheme::OneVsOne => {
                // Every pair has its own rows: what is said is said of the largest.
                let mut counts = vec![0; classes];
                data.y().iter().for_each(|y| counts[*y as usize] += 1);
                counts.sort_unstable_by(|a, b| b.cmp(a));
                let rows = counts.iter().take(2).sum();
                let stored = Sizes { rows, stored: sizes.stored * rows / sizes.rows.max(1), ..sizes };
                plan.of_two_classes(spec, &risk.problem, &Sizes::in_memory(&risk.problem, &stored), warm);
            }
        }
        if spec.chooses_lambda() {
            let reason = "none is given; short fits on parts of the rows, or of a sample of many";
            plan.say("lambda", "by cross-validation", reason);
        }
        Ok(plan)
    }

    fn say(&mut self, about: &'static str, choice: impl Into<String>, reason: impl Into<String>) {
        self.decisions.push(Decision { about, choice: choice.into(), reason: reason.into() });
    }

    fn say_whether(&mut self, about: &'static str, choice: Choice<bool>) {
        self.say(about, if choice.pick { "yes" } else { "no" }, choice.reason);
    }

    fn problems(&mut self, scheme: Scheme, classes: usize) {
        let count = scheme.problems(classes);
        match scheme {
            Scheme::Joint => self.say("problems", "1", "all classes are trained jointly"),
            Scheme::OneVsRest => self.say("problems", count.to_string(), "every class against the rest"),
            Scheme::OneVsOne => self.say("problems", count.to_string(), "every pair of classes"),
        }
    }

    fn joint(&mut self, spec: &Spec, problem: &Problem<'_>, sizes: &Sizes) {
        if spec.hard_margin {
            self.say("margin", "hard", "a penalty so weak that no row gives way, in units in which that is 1");
        }
        let chosen = solver(&spec.solver, problem);
        self.say_whether("dual ascent first", ascends(&spec.solver, spec.max_iter.is_some(), problem, sizes));
        self.say("solver", chosen.pick.name(), chosen.reason);
        let reduction = reduces(problem.penalty, sizes, &chosen.pick);
        self.say_whether("row space", reduction);
        if !matches!(chosen.pick, AnySolver::Newton(_)) {
            return;
        }
        if !reduction.pick {
            return self.systems(problem, sizes);
        }
        let (features, stored) = (sizes.rows, sizes.rows * sizes.rows);
        let problem = Problem { features, ..*problem };
        let reduced = Sizes::in_memory(&problem, &Sizes { features, stored, ..*sizes });
        self.systems(&problem, &reduced);
    }

    fn of_two_classes(&mut self, spec: &Spec, problem: &Problem<'_>, sizes: &Sizes, warm: bool) {
        let problem = &Problem { classes: 2, ..*problem };
        let way = binary(&spec.solver, problem);
        if way.pick == Binary::Apart {
            self.say("passes", "apart", way.reason);
            let scorer = problem.penalty.for_scorer();
            let penalty = scorer.as_deref().unwrap_or(problem.penalty);
            return self.joint(spec, &Problem { penalty, ..*problem }, sizes);
        }
        self.say("passes", "shared", way.reason);
        if matches!(spec.solver, AnySolver::Dual(_)) {
            return self.say("solver", spec.solver.name(), "asked for");
        }
        if spec.scheme == Scheme::OneVsOne {
            self.say_whether("by products first", pairs_by_products(&spec.solver, spec.max_iter.is_some(), problem));
        } else {
            let descends = binary_descends(&spec.solver, spec.max_iter.is_some(), warm, problem, sizes);
            self.say_whether("dual descent first", descends);
        }
        let chosen = solver(&spec.solver, problem);
        self.say("solver", chosen.pick.name(), chosen.reason);
        self.say_whether("row space", reduces(problem.penalty, sizes, &chosen.pick));
    }

    fn systems(&mut self, problem: &Problem<'_>, sizes: &Sizes) {
        let plan = SystemPlan::of(problem, sizes);
        let parameters = problem.dim();
        if plan.writes_out {
            self.say("systems", "Cholesky", format!("{parameters} parameters, cheaper than products"));
            match plan.written {
                Written::Whole => {}
                Written::Lumped => self.say(
                    "factored",
                    "the heaviest rows",
                    "the others enter as the mean of their class, as a preconditioner",
                ),
                Written::Packed => self.say(
                    "factored",
                    "half of the matrix, in single precision",
                    "all of it does not fit into memory; it is a preconditioner",
                ),
            }
            return;
        }
        let until = match plan.break_even {
            // Products in single precision count half.
            even if even.is_finite() => {
                let products = if sizes.keeps_f32 { 2.0 * even } else { even };
                format!("written out once one takes more than {:.0} products", products.ceil())
            }
            _ => "the matrix cannot be written out".to_string(),
        };
        self.say("systems", "conjugate gradients", format!("{parameters} parameters; {until}"));
        if plan.kronecker {
            self.say("preconditioner", "Kronecker", "features are dense, and all rows still carry weight");
        }
        self.say(
            if plan.kronecker { "later" } else { "preconditioner" },
            "Woodbury",
            format!("up to {} entries with weight inverted exactly", plan.entries),
        );
        let (precision, why) = match sizes.keeps_f32 {
            true => ("single", "products need a few digits, and gradients keep all"),
            false => ("double", "rows are sparse, few, or too many for a copy"),
        };
        self.say("precision", precision, why);
    }
}
