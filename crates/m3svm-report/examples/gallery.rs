//! Every kind of chart once, as SVG and PNG: `cargo run -p m3svm-report --example gallery -- FOLDER`
//! (else into `target/gallery`).

use std::path::PathBuf;

use m3svm::metrics::Criterion;
use m3svm_report::{
    Axis, Block, Compared, Figure, Group, HeatMap, LineChart, Regions, Report, ScatterChart, Separator, Series, Spread,
    comparison, score_map,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "target/gallery".into()));
    std::fs::create_dir_all(&folder)?;
    let mut page = Report::new("Every kind of chart").section("Charts");
    for (name, figure) in figures() {
        figure.save(&folder.join(format!("{name}.svg")))?;
        #[cfg(feature = "png")]
        figure.save(&folder.join(format!("{name}.png")))?;
        page = page.figure(&figure);
    }
    page.write(&folder.join("gallery.html"))?;
    Ok(())
}

fn figures() -> Vec<(&'static str, Figure)> {
    vec![
        ("line", line()),
        ("band", spread(Spread::Band)),
        ("bars", spread(Spread::Bars)),
        ("small-map", small_map()),
        ("large-map", large_map()),
        ("accuracy", score_map(Criterion::Accuracy, &[1e-4, 1e-3, 1e-2, 0.1], &[1.0, 2.0, 4.0], &grid(), Some((1, 2)))),
        ("comparison", comparison(Criterion::Accuracy, &methods())),
        ("scatter", scatter()),
    ]
}

fn line() -> Figure {
    let curve = |rate: f64| (0..12).map(|i| (f64::from(i), 10f64.powf(2.0 - rate * f64::from(i)))).collect();
    let series = |name: &str, rate| Series { name: name.into(), points: curve(rate), spread: vec![] };
    LineChart {
        title: "Convergence of three solvers".into(),
        x: Axis::new("iteration"),
        y: Axis::new("relative duality gap").log(),
        series: vec![series("newton", 1.4), series("lbfgs", 0.4), series("adam <b>&amp;</b>", 0.1)],
        ..LineChart::default()
    }
    .figure()
}

fn spread(spread: Spread) -> Figure {
    let series = |name: &str, base: f64| Series {
        name: name.into(),
        points: (0..7).map(|i| (10f64.powi(i - 4), base - 0.01 * f64::from((i - 3).pow(2)))).collect(),
        spread: (0..7).map(|i| 0.01 + 0.002 * f64::from(i)).collect(),
    };
    LineChart {
        title: "Accuracy against the strength of the penalty".into(),
        x: Axis::new("λ").log(),
        y: Axis::new("accuracy"),
        series: vec![series("p = 2", 0.93), series("p = 8", 0.97)],
        spread,
    }
    .figure()
}

fn small_map() -> Figure {
    let names: Vec<String> = ["setosa", "versicolor", "virginica"].map(String::from).to_vec();
    HeatMap {
        title: "Margins between classes".into(),
        row_title: "class".into(),
        column_title: "class".into(),
        rows: names.clone(),
        columns: names,
        values: vec![vec![f64::NAN, 1.583, 0.8956], vec![1.583, f64::NAN, 1.154], vec![0.8956, 1.154, f64::NAN]],
        scale: Axis::new("margin"),
        marked: Some(Block { rows: 0..1, columns: 2..3 }),
        ..HeatMap::default()
    }
    .figure()
}

fn large_map() -> Figure {
    let names: Vec<String> = (0..26).map(|k| format!("letter {}", char::from(b'A' + k))).collect();
    let value = |i: i32, j: i32| if i == j { f64::NAN } else { 10f64.powf(f64::from((i - j).abs()) / 10.0) };
    HeatMap {
        title: "Distances of 26 letters".into(),
        row_title: "letter".into(),
        column_title: "letter".into(),
        rows: names.clone(),
        columns: names,
        values: (0..26).map(|i| (0..26).map(|j| value(i, j)).collect()).collect(),
        scale: Axis::new("distance").log(),
        marked: Some(Block { rows: 4..9, columns: 4..9 }),
        ..HeatMap::default()
    }
    .figure()
}

fn grid() -> Vec<Vec<f64>> {
    vec![vec![0.91, 0.93, 0.955, 0.94], vec![0.92, 0.95, 0.9733, 0.95], vec![0.93, 0.96, 0.97, f64::NAN]]
}

fn methods() -> Vec<Compared> {
    let method = |name: &str, mean, deviation| Compared { name: name.into(), mean, deviation };
    vec![
        method("m3svm, p = 4", 0.9733, Some(0.012)),
        method("one class against the rest", 0.9533, Some(0.021)),
        method("multinomial logistic regression", 0.966, Some(0.015)),
        method("nearest neighbour", 0.96, None),
    ]
}

fn scatter() -> Figure {
    let blob = |name: &str, x: f64, y: f64| Group {
        name: name.into(),
        points: (0..30)
            .map(|i| f64::from(i) * 2.4)
            .map(|t| (x + 0.12 * t.sqrt() * t.cos(), y + 0.1 * t.sqrt() * t.sin()))
            .collect(),
    };
    let centres = [(1.0, 1.0), (3.0, 1.5), (2.0, 3.2)];
    let nearest = |x: f64, y: f64| {
        let distance = |k: &usize| (centres[*k].0 - x).powi(2) + (centres[*k].1 - y).powi(2);
        (0..3).min_by(|k, l| distance(k).total_cmp(&distance(l))).unwrap_or(0)
    };
    let cell = |i: usize, n: usize| 4.5 * (i as f64 + 0.5) / n as f64;
    let classes = (0..60).flat_map(|i| (0..60).map(move |j| (i, j))).map(|(i, j)| nearest(cell(j, 60), cell(i, 60)));
    ScatterChart {
        title: "Three classes and what separates them".into(),
        x: Axis::new("first feature").range(0.0, 4.5),
        y: Axis::new("second feature").range(0.0, 4.5),
        groups: vec![blob("alpha", 1.0, 1.0), blob("beta", 3.0, 1.5), blob("gamma", 2.0, 3.2)],
        separators: vec![Separator { a: 2.0, b: 0.5, c: 4.625 }, Separator { a: 1.0, b: 2.2, c: 6.12 }],
        regions: Some(Regions { columns: 60, classes: classes.collect() }),
    }
    .figure()
}
