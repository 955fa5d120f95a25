//! Every chart with good and with hostile data: well-formed, complete, and no text outside its figure or over another.

#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg(feature = "png")]

use std::sync::Arc;

use m3svm::metrics::Criterion;
use m3svm_report::{
    Axis, Block, Compared, Figure, Group, HeatMap, LineChart, Measured, PointChart, Regions, ScatterChart, Separator,
    Series, Spread, comparison, score_map,
};
use resvg::usvg::{Node, Options, Rect, Transform, Tree, fontdb::Database};

const NASTY: &str = "<script>alert('1')</script> & \"quotes\" \u{0}\u{1b}[31m\u{202e}";

fn line(points: Vec<(f64, f64)>, log: bool, spread: Vec<f64>) -> Figure {
    let axis = |label: &str| if log { Axis::new(label).log() } else { Axis::new(label) };
    let series = vec![
        Series { name: "first".into(), points: points.clone(), spread: spread.clone() },
        Series { name: NASTY.into(), points, spread },
    ];
    LineChart { title: "Lines".into(), x: axis("x"), y: axis("y"), series, spread: Spread::Bars }.figure()
}

fn map(values: Vec<Vec<f64>>, name: impl Fn(usize) -> String, log: bool) -> Figure {
    let columns = values.first().map_or(0, Vec::len);
    HeatMap {
        title: "Map".into(),
        row_title: "rows".into(),
        column_title: "columns".into(),
        rows: (0..values.len()).map(&name).collect(),
        columns: (0..columns).map(&name).collect(),
        scale: if log { Axis::new("value").log() } else { Axis::new("value") },
        values,
        marked: Some(Block { rows: 0..1, columns: 0..1 }),
        ..HeatMap::default()
    }
    .figure()
}

fn square(n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| (0..n).map(|j| 1.0 + (i * n + j) as f64).collect()).collect()
}

fn ordinary() -> Vec<Figure> {
    let points = |n: u32| (1..=n).map(|i| (f64::from(i), 1e-3 * f64::from(i * i))).collect::<Vec<_>>();
    let methods: Vec<Compared> = (0..4)
        .map(|i| Compared {
            name: format!("method number {i}"),
            mean: 0.9 + 0.01 * f64::from(i),
            deviation: Some(0.02),
        })
        .collect();
    vec![
        line(points(12), false, vec![1e-2; 12]),
        line(points(300), true, vec![]),
        map(square(3), |k| format!("class {k}"), false),
        map(square(15), |k| format!("a longer name of class {k}"), true),
        map(square(26), |k| format!("letter {k}"), false),
        map(square(40), |k| format!("person {k}"), true),
        score_map(
            Criterion::Accuracy,
            &[1e-6, 1e-3, 1e-2],
            &[1.0, 2.5],
            &[vec![0.9, 0.91, 0.92], vec![0.93, f64::NAN, 1.0]],
            Some((1, 2)),
        ),
        comparison(Criterion::Accuracy, &methods),
        scatter(vec![(0.0, 1.0), (2.0, 3.0)]),
    ]
}

fn scatter(points: Vec<(f64, f64)>) -> Figure {
    ScatterChart {
        title: "Scatter".into(),
        x: Axis::new("first"),
        y: Axis::new("second"),
        groups: vec![Group { name: "a".into(), points: points.clone() }, Group { name: NASTY.into(), points }],
        separators: vec![Separator { a: 1.0, b: 1.0, c: 2.0 }, Separator { a: f64::NAN, b: 0.0, c: 0.0 }],
        regions: Some(Regions { columns: 2, classes: vec![0, 1, 1, usize::MAX, 7] }),
    }
    .figure()
}

fn hostile() -> Vec<Figure> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let odd = vec![(0.0, nan), (inf, 1.0), (1.0, -inf), (-1.0, 0.0), (1e308, -1e308), (5e-324, 5e-324), (2.0, 3.0)];
    let points = |value: f64| Measured { name: NASTY.into(), value, deviation: Some(nan), says: NASTY.into() };
    let long = "x".repeat(5000);
    vec![
        line(vec![], false, vec![]),
        line(vec![], true, vec![1.0]),
        line(vec![(1.0, 1.0)], true, vec![5.0]),
        line(odd.clone(), false, vec![nan, inf, -1.0]),
        line(odd.clone(), true, vec![1e9; 99]),
        map(vec![], |_| NASTY.into(), false),
        map(vec![vec![], vec![1.0], vec![nan, inf]], |_| NASTY.into(), false),
        map(vec![vec![nan, 0.0], vec![-1.0, inf]], |_| long.clone(), true),
        map(vec![vec![2.0; 3]; 3], |_| String::new(), true),
        score_map(Criterion::Accuracy, &[], &[], &[], Some((usize::MAX, usize::MAX))),
        score_map(Criterion::Accuracy, &[nan, 1.0], &[inf], &[], Some((0, 7))),
        comparison(Criterion::Accuracy, &[]),
        comparison(Criterion::Accuracy, &[Compared { name: long.clone(), mean: nan, deviation: Some(inf) }]),
        PointChart {
            title: long.clone(),
            axis: Axis::new(&long).log(),
            points: vec![points(0.0), points(1.0), points(inf)],
        }
        .figure(),
        scatter(vec![]),
        scatter(odd),
        ScatterChart::default().figure(),
        LineChart::default().figure(),
        HeatMap::default().figure(),
        PointChart::default().figure(),
    ]
}

#[test]
fn every_figure_is_well_formed_and_has_only_finite_coordinates() {
    for figure in ordinary().into_iter().chain(hostile()) {
        let svg = figure.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
        assert_eq!(document.root_element().tag_name().name(), "svg");
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert!(!["script", "b", "a", "image"].contains(&node.tag_name().name()), "{svg}");
            for attribute in node.attributes().filter(|a| a.name() != "font-family") {
                let value = attribute.value();
                assert!(!value.contains("NaN") && !value.contains("inf") && !value.contains('∞'), "{value} in {svg}");
            }
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let text = |figure: &Figure| figure.to_svg();
    let figures = hostile();
    for empty in [0, 1, 5, 11, 14, 16, 17, 18, 19] {
        assert!(text(&figures[empty]).contains("no data"), "{empty}: {}", text(&figures[empty]));
    }
    // Twice NaN, three infinities and a number that is too large, in each of two series.
    assert!(text(&figures[3]).contains("8 values have no place on these axes"), "{}", text(&figures[3]));
    assert!(text(&figures[13]).contains("2 values have no place on these axes"));
    assert!(!text(&ordinary()[0]).contains("no place"));
}

#[test]
fn every_figure_becomes_a_picture() {
    for figure in ordinary().into_iter().chain(hostile()) {
        let png = figure.to_png(1.0).unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    }
    let figure = &ordinary()[0];
    for scale in [0.0, -1.0, f64::NAN, 1e9] {
        let refused = figure.to_png(scale).unwrap_err().to_string();
        assert!(refused.starts_with("the figure cannot be drawn as PNG: a scale of "), "{refused}");
    }
    assert!(figure.to_png(2.0).unwrap().len() > figure.to_png(1.0).unwrap().len());
}

#[test]
fn no_text_leaves_its_figure_or_covers_another() {
    let mut fontdb = Database::new();
    fontdb.load_font_data(dejavu::sans::regular().to_vec());
    fontdb.load_font_data(dejavu::sans::bold().to_vec());
    let options = Options { fontdb: Arc::new(fontdb), font_family: "DejaVu Sans".into(), ..Options::default() };
    for figure in ordinary().into_iter().chain(hostile()) {
        let svg = figure.to_svg();
        let tree = Tree::from_str(&svg, &options).unwrap();
        let mut boxes = Vec::new();
        texts(tree.root().children(), &mut boxes);
        assert!(!boxes.is_empty(), "{svg}");
        for (what, at, _) in &boxes {
            let inside = at.left() >= 0.0
                && at.top() >= 0.0
                && at.right() <= tree.size().width()
                && at.bottom() <= tree.size().height();
            assert!(inside, "{}: `{what}` at {at:?} leaves {:?}", figure.title(), tree.size());
        }
        // The boxes of slanted names overlap where the names do not.
        let straight: Vec<_> = boxes.iter().filter(|(_, _, slanted)| !slanted).collect();
        for (i, (what, a, _)) in straight.iter().enumerate() {
            for (other, b, _) in &straight[..i] {
                let apart =
                    a.left() >= b.right() || b.left() >= a.right() || a.top() >= b.bottom() || b.top() >= a.bottom();
                assert!(apart, "{}: `{what}` covers `{other}`", figure.title());
            }
        }
    }
}

/// All texts with their boxes, and whether they are slanted.
fn texts(nodes: &[Node], found: &mut Vec<(String, Rect, bool)>) {
    for node in nodes {
        match node {
            Node::Group(group) => texts(group.children(), found),
            Node::Text(text) => {
                let what = text.chunks().iter().map(|c| c.text()).collect();
                let Transform { kx, sx, .. } = text.abs_transform();
                found.push((what, text.abs_bounding_box(), kx.abs() > 1e-3 && sx.abs() > 1e-3));
            }
            _ => {}
        }
    }
}

#[test]
fn figures_are_saved_by_their_extension() {
    let folder = tempfile::tempdir().unwrap();
    let figure = &ordinary()[0];
    figure.save(&folder.path().join("a.svg")).unwrap();
    figure.save(&folder.path().join("a.PNG")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a.svg")).unwrap(), figure.to_svg());
    assert_eq!(std::fs::read(folder.path().join("a.PNG")).unwrap(), figure.to_png(2.0).unwrap());
    let refused = figure.save("figure.jpg".as_ref()).unwrap_err().to_string();
    assert_eq!(refused, "figure.jpg: the name of a figure must end in .svg or .png");
    assert!(
        figure
            .save(&folder.path().join("none").join("a.svg"))
            .unwrap_err()
            .to_string()
            .ends_with("the folder does not exist")
    );
}
