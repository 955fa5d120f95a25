//! An option for every number that losses, penalties and solvers have, as the library describes them.

use anyhow::bail;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use m3svm::text::plain;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Method, Parameter, Parameters};

use super::spec::{default_by_method, or};

/// The numbers that were given.
#[derive(Debug, Default)]
pub(crate) struct ParameterArgs(Vec<(&'static Parameter, f64)>);

/// What has an option of its own: values of a search, and what has the name of something else in the command line.
const ELSEWHERE: [&str; 3] = ["lambda", "p", "memory"];

/// A parameter with the heading that it stands under and its default.
struct Offered {
    parameter: &'static Parameter,
    heading: &'static str,
    help: String,
}

fn offered() -> Vec<Offered> {
    let mut all: Vec<Offered> = Vec::new();
    let mut offer = |own: &dyn Parameters, heading, help: &dyn Fn(&'static Parameter) -> String| {
        for parameter in own.parameters() {
            let known = all.iter().any(|it| it.parameter.name == parameter.name);
            if !known && !ELSEWHERE.contains(&parameter.name) {
                all.push(Offered { parameter, heading, help: help(parameter) });
            }
        }
    };
    for loss in AnyLoss::examples() {
        offer(&loss, "Model", &|it| match it.name {
            // Of all that have it, one method lets it be chosen.
            "k" => or(it.help, Method::Topk.spec().loss.get(it.name).map_or(String::new(), plain)),
            name => default_by_method(it.help, |spec| spec.loss.get(name)),
        });
    }
    for penalty in AnyPenalty::examples() {
        offer(&penalty, "Model", &|it| with_default(it, penalty.get(it.name)));
    }
    for solver in AnySolver::examples() {
        offer(&solver, "Solver", &|it| with_default(it, solver.get(it.name)));
    }
    all
}

fn with_default(parameter: &Parameter, default: Option<f64>) -> String {
    or(parameter.help, default.map_or("all".into(), plain))
}

fn option(name: &str) -> String {
    name.replace('_', "-")
}

impl Args for ParameterArgs {
    fn augment_args(command: Command) -> Command {
        offered().into_iter().fold(command, |command, Offered { parameter, heading, help }| {
            let first = parameter.name.chars().next().map_or(String::new(), |first| first.to_uppercase().to_string());
            let arg = Arg::new(parameter.name).long(option(parameter.name)).value_name(first).help(help);
            let arg = arg.help_heading(heading).allow_negative_numbers(true);
            command.arg(if parameter.is_whole {
                arg.value_parser(clap::value_parser!(i128))
            } else {
                arg.value_parser(clap::value_parser!(f64))
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Self::default();
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for Offered { parameter, .. } in offered() {
            let value = if parameter.is_whole {
                matches.get_one::<i128>(parameter.name).map(|count| *count as f64)
            } else {
                matches.get_one::<f64>(parameter.name).copied()
            };
            self.0.extend(value.map(|value| (parameter, value)));
        }
        Ok(())
    }
}

impl ParameterArgs {
    /// Sets what was given; all of it must belong somewhere.
    pub(super) fn apply(
        &self,
        method: Method,
        loss: &mut AnyLoss,
        penalty: &mut AnyPenalty,
        solver: &mut AnySolver,
    ) -> anyhow::Result<()> {
        for (parameter, value) in &self.0 {
            let name = parameter.name;
            if parameter.is_whole && !(0.0..18446744073709551616.0).contains(value) {
                bail!("`{}` must be a whole number from 0 to 2^64 - 1, found {}", option(name), *value as i128);
            }
            // The methods are told apart by it.
            let is_open = name != "k" || method == Method::Topk;
            if !((is_open && loss.set(name, *value)) || penalty.set(name, *value) || solver.set(name, *value)) {
                bail!("{}", misplaced(name, method, solver));
            }
        }
        Ok(())
    }
}

/// What a number belongs to that has been given in vain.
fn misplaced(name: &str, method: Method, solver: &AnySolver) -> String {
    let option = option(name);
    if let Some(owner) = AnySolver::examples().iter().find(|it| it.has(name)) {
        return format!("`--{option}` belongs to the solver {}, the solver is {}", owner.name(), solver.name());
    }
    if let Some(owner) = AnyPenalty::examples().iter().find(|it| it.has(name)) {
        return format!("`--{option}` belongs to the penalty {0}, see `--penalty {0}`", owner.name());
    }
    let owners = Method::ALL.into_iter().filter(|it| it.spec().loss.has(name) && (name != "k" || *it == Method::Topk));
    let owners: Vec<&str> = owners.map(Method::name).collect();
    let kind = if owners.len() == 1 { "method" } else { "methods" };
    format!("`--{option}` belongs to the {kind} {}, the method is {}", owners.join(", "), method.name())
}
