//! The page around the figures, and what a model puts into it.

#![expect(clippy::unwrap_used, reason = "tests")]

use m3svm::metrics::Metrics;
use m3svm::{Dataset, Features, Model, Spec};
use m3svm_report::{LineChart, Report, Step, Table, convergence_section, model_sections, quality_sections};

const NASTY: &str = "<script>alert('1')</script>&amp;\"";

/// `c` classes on a circle, two rows each.
fn data(c: usize, name: impl Fn(usize) -> String) -> Dataset<'static> {
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for i in 0..2 * c {
        let angle = (i % c) as f64 / c as f64 * std::f64::consts::TAU;
        let radius = 1.0 + 0.1 * (i / c) as f64;
        x.extend([radius * angle.cos(), radius * angle.sin()]);
        labels.push(name(i % c));
    }
    Dataset::from_labels(Features::dense(x, 2 * c, 2).unwrap(), &labels).unwrap()
}

fn fitted(data: &Dataset<'_>, spec: Spec) -> (Model, Metrics, Vec<Step>) {
    let mut steps = Vec::new();
    let model = spec
        .fit_watched(data, None, &mut |at| {
            steps.push(Step { iteration: at.iteration, objective: at.objective, relative_gap: at.relative_gap });
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let predicted = model.predict(data.x()).unwrap();
    let metrics = Metrics::new(data.y(), &predicted, None, data.classes().len()).unwrap();
    (model, metrics, steps)
}

fn page(data: &Dataset<'_>, spec: Spec) -> String {
    let (model, metrics, steps) = fitted(data, spec);
    let report = model_sections(Report::new("A model"), &model);
    let report = quality_sections(report, model.classes(), &metrics, "training rows");
    convergence_section(report, &model, &steps).to_html()
}

/// The page as XML, which HTML of our making is but for its empty elements.
fn parsed(html: &str) -> String {
    let xml = html.replace("<!DOCTYPE html>\n", "");
    let close = |line: &str| {
        if line.starts_with("<meta") || line.starts_with("<link") { line.replace('>', "/>") } else { line.into() }
    };
    let xml = xml.lines().map(close).collect::<Vec<_>>().join("\n");
    roxmltree::Document::parse(&xml).unwrap_or_else(|e| panic!("{e}: {xml}"));
    xml
}

#[test]
fn every_text_is_escaped() {
    let table = Table {
        caption: NASTY.into(),
        header: vec![NASTY.into()],
        text_columns: 1,
        rows: vec![vec![NASTY.into(), NASTY.into()]],
    };
    let figure = LineChart { title: NASTY.into(), ..LineChart::default() }.figure();
    let report = Report::new(NASTY).section(NASTY).text(NASTY).facts(&[(NASTY, NASTY)]).table(table).figure(&figure);
    let html = report.to_html();
    assert!(!html.contains("<script") && !html.contains("alert('"), "{html}");
    assert_eq!(html.matches("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;&quot;").count(), 13);
    let xml = parsed(&html);
    let document = roxmltree::Document::parse(&xml).unwrap();
    let heading = document.descendants().find(|n| n.has_tag_name("h1")).unwrap();
    assert_eq!(heading.text(), Some(NASTY));
}

#[test]
fn a_page_asks_for_nothing_and_runs_nothing() {
    let html = page(&data(3, |k| format!("class {k}")), Spec::default().with_usual_lambda());
    assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\""));
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for forbidden in ["http:", "https:", "//", "url(", "@import", "<script", "<iframe", "onload", "src=\""] {
        assert!(!outside.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_model_fills_a_page() {
    let html = page(
        &data(3, |k| if k == 0 { NASTY.into() } else { format!("class {k}") }),
        Spec::default().with_usual_lambda(),
    );
    parsed(&html);
    assert_eq!(html.matches("<figure>").count(), 3, "margins, confusion, convergence");
    for part in [
        "Certificate",
        "lower bound",
        "Margins",
        "Confusion matrix on the training rows",
        "precision",
        "Convergence",
        "Largest weights",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("role=\"img\"").count(), html.matches("<figcaption>").count());
    assert_eq!(html.matches("<table>").count(), html.matches("<caption>").count());
}

#[test]
fn the_margins_on_the_page_are_those_of_the_model() {
    let data = data(3, |k| format!("class {k}"));
    let (model, ..) = fitted(&data, Spec::default().with_usual_lambda());
    let html = model_sections(Report::new("m"), &model).to_html();
    for k in 0..3 {
        for l in (0..3).filter(|l| *l != k) {
            let tip = format!(
                "<title>class {k}, class {l}, {:.prec$}</title>",
                model.margin(k, l),
                prec = places(model.margin(k, l))
            );
            assert!(html.contains(&tip), "{tip}");
        }
    }
}

/// Places of a number with three significant digits.
fn places(value: f64) -> usize {
    (2 - value.log10().floor() as i32).max(0) as usize
}

#[test]
fn many_classes_get_tables_and_smaller_maps() {
    let spec = Spec { tol: 1e-2, ..Spec::default().with_usual_lambda() };
    let html = page(&data(45, |k| format!("class {k}")), spec.clone());
    assert!(html.contains("Smallest of the 990 margins"));
    assert!(!html.contains("slanted"));
    let html = page(&data(130, |k| format!("class {k}")), spec);
    parsed(&html);
    assert!(html.contains("Each cell is the smallest margin between 2 classes and 2 others."));
    assert!(html.contains("The first 100 of 130 classes."));
    assert!(html.len() < 1_500_000, "{}", html.len());
}

#[test]
fn every_scheme_has_its_own_margin() {
    use m3svm::Scheme;
    let data = data(3, |k| format!("class {k}"));
    for (scheme, formula) in
        [(Scheme::Joint, "is 2/‖wₖ"), (Scheme::OneVsRest, "is 4/‖wₖ"), (Scheme::OneVsOne, "is 2/‖wₖₗ‖")]
    {
        let html = page(&data, Spec { scheme, ..Spec::default().with_usual_lambda() });
        parsed(&html);
        assert!(html.contains(formula), "{scheme:?}");
        assert_eq!(html.contains("3 of two classes"), scheme != Scheme::Joint);
    }
}

#[test]
fn without_a_bound_the_page_says_so() {
    use m3svm::penalty::{Norm, Pairwise};
    let spec = Spec {
        penalty: m3svm::AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 1e-3, 0.5)),
        ..Spec::default().with_usual_lambda()
    };
    let html = page(&data(3, |k| format!("class {k}")), spec);
    assert!(html.contains("This is a local optimum") && html.contains("there is no lower bound"));
    assert!(!html.contains("relative gap"));
}

#[test]
fn long_traces_are_thinned_and_end_with_the_certificate() {
    let adam = m3svm::AnySolver::Adam(m3svm::solver::Adam::default());
    let spec = Spec { solver: adam, max_iter: Some(5000), tol: 1e-300, ..Spec::default().with_usual_lambda() };
    let (model, _, steps) = fitted(&data(2, |k| format!("class {k}")), spec);
    assert!(steps.len() >= 4999);
    let html = convergence_section(Report::new("long"), &model, &steps).to_html();
    assert!(html.contains("One in 10 of 5") && html.len() < 40_000, "{}", html.len());
    let step = |objective: f64, gap: f64| Step { iteration: 1, objective, relative_gap: Some(gap) };
    for steps in [vec![], vec![step(1.0, 0.5)], vec![step(0.0, f64::NAN)]] {
        let html = convergence_section(Report::new("short"), &model, &steps).to_html();
        parsed(&html);
        // The last point is in any case the one of the model itself.
        assert!(html.contains("<circle"));
    }
}

#[test]
fn a_page_is_written_in_one_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    Report::new("first").write(&path).unwrap();
    Report::new("second").write(&path).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("<title>second</title>"));
    let refused = Report::new("x").write(&folder.path().join("none").join("r.html")).unwrap_err().to_string();
    assert!(refused.ends_with("the folder does not exist"), "{refused}");
}
