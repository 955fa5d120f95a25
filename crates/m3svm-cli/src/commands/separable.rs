//! `m3svm separable`.

use m3svm::text::plural;
use m3svm::{Dataset, PairVerdict, Separability, Verdict};
use serde_json::{Value, json};

use super::train::title;
use crate::args::SeparableArgs;
use crate::progress::Watcher;
use crate::{print, table};

/// Most rows and pairs that are listed.
const MOST: usize = 20;

pub(crate) fn run(args: &SeparableArgs) -> anyhow::Result<()> {
    let read = args.data.read(&args.file, &args.columns)?;
    let title = title(&read);
    let data = read.without_columns().into_dataset()?;
    let mut watcher = Watcher::start()?;
    let found = Separability::of(&data, !args.no_intercept, &mut |at| watcher.step(at));
    drop(watcher);
    let found = found?;
    if args.json {
        return print(&format!("{}\n", as_json(&found, &data)));
    }
    let mut text = format!("{title}\n");
    for line in table::folded(&m3svm::text::visible(&capital(&found.sentence(&data))), table::room_beside(&[])) {
        text += &format!("{line}\n");
    }
    text += &pairs(&found, &data);
    text += &removal(&found);
    print(&text)
}

/// How many pairs can be told apart, and the sentences of those that cannot.
fn pairs(found: &Separability, data: &Dataset<'_>) -> String {
    if data.classes().len() == 2 {
        return String::new();
    }
    let open: Vec<&PairVerdict> = found.pairs.iter().filter(|pair| pair.verdict != Verdict::Separable).collect();
    let apart = found.pairs.len() - open.len();
    let mut text = format!("\n{apart} of {} can be told apart two by two.\n", plural(found.pairs.len(), "pair"));
    for pair in open.iter().take(MOST) {
        for (at, line) in table::folded(&m3svm::text::visible(&pair.sentence(data)), table::room_beside(&["-".into()]))
            .iter()
            .enumerate()
        {
            text += &format!("  {}{line}\n", if at == 0 { "- " } else { "  " });
        }
    }
    if open.len() > MOST {
        text += &format!("  and {} more; --json has all\n", open.len() - MOST);
    }
    text
}

/// What would have to go.
fn removal(found: &Separability) -> String {
    match &found.removal {
        Some(rows) if !rows.is_empty() => {
            let named: Vec<String> = rows.iter().take(MOST).map(|row| (row + 1).to_string()).collect();
            let more = if rows.len() > MOST { ", …; --json has all" } else { "" };
            format!(
                "\nWithout {} all could be told apart (the fewest that were found): {} {}{more}\n",
                plural(rows.len(), "row"),
                if rows.len() == 1 { "row" } else { "rows" },
                named.join(", ")
            )
        }
        _ => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Rows are numbered from 1, as everywhere; classes by name.
fn as_json(found: &Separability, data: &Dataset<'_>) -> Value {
    let class = |k: u32| &data.classes()[k as usize];
    let verdict = |verdict: &Verdict| match verdict {
        Verdict::Separable => json!({ "verdict": "separable" }),
        Verdict::NotSeparable { combination } => {
            let rows: Vec<Value> = combination
                .iter()
                .map(|demand| {
                    json!({
                        "row": demand.row + 1,
                        "class": class(data.y()[demand.row as usize]),
                        "against": class(demand.rival),
                        "weight": demand.weight,
                    })
                })
                .collect();
            json!({ "verdict": "not-separable", "combination": rows })
        }
        Verdict::Undecided { margin_at_most } => {
            let margin = margin_at_most.is_finite().then_some(margin_at_most);
            json!({ "verdict": "undecided", "margin_at_most": margin })
        }
    };
    let pairs: Vec<Value> = found
        .pairs
        .iter()
        .map(|pair| {
            let mut value = verdict(&pair.verdict);
            value["classes"] = json!([class(pair.first), class(pair.second)]);
            value["sentence"] = json!(pair.sentence(data));
            value
        })
        .collect();
    let mut all = verdict(&found.all);
    all["sentence"] = json!(found.sentence(data));
    let removal = found.removal.as_ref().map(|rows| rows.iter().map(|row| row + 1).collect::<Vec<u32>>());
    json!({ "rows": data.rows(), "classes": data.classes(), "all": all, "pairs": pairs, "removal": removal })
}
