//! Data in the plane: iris by discriminants and by principal components with the lines that part its classes, others by t-SNE.

use m3svm::{Dataset, Features, Method, Scaling, Spec};
use m3svm_report::{Axis, Group, Regions, ScatterChart, Separator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::data::{Loaded, dense, scaled};
use crate::embedding::{EPOCHS, PERPLEXITY, embed};
use crate::error::Result;
use crate::output::Output;
use crate::parts::Parts;
use crate::plan::{Listener, Plan, available};
use crate::projection::{Table, lda, pca};
use crate::sets::{COIL20, IRIS, SEGMENT, SETS, Set};

/// Cells of the coloured regions in each direction.
const CELLS: usize = 120;
/// Room around the points, as a share of their range.
const AIR: f64 = 0.08;

pub(crate) fn run(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let dermatology = SETS.map(|it| it.set).into_iter().filter(|set| set.name == "Dermatology");
    let sets: Vec<Set> = [IRIS, COIL20].into_iter().chain(dermatology).chain([SEGMENT]).collect();
    let (mut records, mut settings, mut shown) = (Vec::new(), Vec::new(), 0);
    for found in available(plan, listener, sets) {
        let (set, loaded) = found?;
        for (name, points) in planes(&set, &loaded, parts, listener, &mut settings)? {
            let chart = chart(&set, name, &loaded.data, &points)?;
            output.figure(&format!("illustration-{}-{name}", set.key()), &chart.figure())?;
            records.extend(points.iter().zip(loaded.data.y()).map(|([x, y], class)| Record {
                set: set.name,
                view: name,
                x: *x,
                y: *y,
                class: loaded.data.classes()[*class as usize].clone(),
            }));
            shown += 1;
        }
    }
    if shown > 0 {
        output.csv("illustrations", records)?;
        output.settings("illustrations", settings.into())?;
    }
    Ok(shown)
}

/// A line of the CSV file.
#[derive(Serialize)]
struct Record {
    set: &'static str,
    view: &'static str,
    x: f64,
    y: f64,
    class: String,
}

type Points = Vec<[f64; 2]>;

/// The views of a data set: both projections for iris, the embedding for the others.
fn planes(
    set: &Set,
    loaded: &Loaded,
    parts: &Parts,
    listener: &Listener<'_>,
    settings: &mut Vec<Value>,
) -> Result<Vec<(&'static str, Points)>> {
    let data = &loaded.data;
    if *set == IRIS {
        let values = dense(data.x());
        let table = Table { values: &values, columns: data.x().cols() };
        let views = [("lda", lda(&table, data.y())), ("pca", pca(&table))];
        settings.extend(views.iter().map(|(view, _)| json!({"set": set.name, "view": view, "file": loaded.checksum})));
        return Ok(views.into_iter().filter_map(|(view, points)| Some((view, points?))).collect());
    }
    // Pixels are all of one kind already.
    let scaling = if *set == COIL20 { Scaling::None } else { Scaling::Standard };
    let made_with = json!({"view": "t-sne", "scaling": scaling, "perplexity": PERPLEXITY, "epochs": EPOCHS,
        "start": "principal components", "file": loaded.checksum});
    let part = format!("illustration-{}-tsne", set.key());
    let points = parts.part(&part, &made_with, listener, || embed(&scaled(data, scaling)?))?;
    settings.push(json!({"set": set.name, "made_with": made_with}));
    Ok(points.map(|points| ("tsne", points)).into_iter().collect())
}

fn chart(set: &Set, view: &str, data: &Dataset<'_>, points: &[[f64; 2]]) -> Result<ScatterChart> {
    let groups = data.classes().iter().zip(0u32..).map(|(name, k)| {
        let own = points.iter().zip(data.y()).filter(|(_, y)| **y == k);
        Group { name: name.clone(), points: own.map(|([x, y], _)| (*x, *y)).collect() }
    });
    let (what, axes) = match view {
        "lda" => ("linear discriminants", ["first discriminant", "second discriminant"]),
        "pca" => ("principal components", ["first component", "second component"]),
        _ => ("t-SNE", ["first coordinate", "second coordinate"]),
    };
    let ranges = [range(points, 0), range(points, 1)];
    let axis = |i: usize| Axis::new(axes[i]).range(ranges[i].0, ranges[i].1);
    let mut chart = ScatterChart {
        title: format!("{}, {what}", set.name),
        x: axis(0),
        y: axis(1),
        groups: groups.collect(),
        ..ScatterChart::default()
    };
    if view != "tsne" {
        (chart.separators, chart.regions) = separators(data, points, ranges)?;
        chart.title += ", M³SVM in the plane";
    }
    Ok(chart)
}

fn range(points: &[[f64; 2]], i: usize) -> (f64, f64) {
    let ends = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p[i]), h.max(p[i])));
    let air = AIR * (ends.1 - ends.0);
    (ends.0 - air, ends.1 + air)
}

/// M³SVM trained on the points in the plane: the line between every pair of classes, and the class of every cell.
fn separators(
    data: &Dataset<'_>,
    points: &[[f64; 2]],
    [x, y]: [(f64, f64); 2],
) -> Result<(Vec<Separator>, Option<Regions>)> {
    let plane = Features::dense(points.concat(), points.len(), 2)?;
    let flat = Dataset::new(plane, data.y().to_vec(), data.classes().to_vec())?;
    let model = Spec::fit(&Method::M3svm.spec().with_usual_lambda(), &flat)?;
    let c = data.classes().len();
    let (w, b) = model.unscaled();
    let line = |(k, l): (usize, usize)| Separator { a: w[k] - w[l], b: w[c + k] - w[c + l], c: b[l] - b[k] };
    let lines = (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l))).map(line).collect();
    let at = |(low, high): (f64, f64), i: usize| low + (high - low) * (i as f64 + 0.5) / CELLS as f64;
    let cells = (0..CELLS).flat_map(|i| (0..CELLS).flat_map(move |j| [at(x, j), at(y, i)])).collect::<Vec<f64>>();
    let classes = model.predict(&Features::dense(cells, CELLS * CELLS, 2)?)?;
    let classes = classes.into_iter().map(|k| k as usize).collect();
    Ok((lines, Some(Regions { columns: CELLS, classes })))
}
