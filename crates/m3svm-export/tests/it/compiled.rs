//! The C source, compiled and run.

use std::path::Path;
use std::process::{Command, Stdio};

use m3svm::{Dataset, Features, Method, Spec};
use m3svm_export::{Error, Format, Options, export};

use crate::{assert_close, assert_same, features, kernel_models, model, rows, text};

/// All methods in one program, each with its own names; the strictest words of a compiler are errors.
#[test]
fn c_says_what_the_model_says() {
    let linear = Method::ALL.into_iter().map(|method| (prefix(method.name()), model(method)));
    let kernels = kernel_models().into_iter().map(|(name, model)| (prefix(&name), model));
    let models: Vec<_> = linear.chain(kernels).collect();
    let mut sources = vec![("main.c".to_string(), program(&models.iter().map(|m| m.0.as_str()).collect::<Vec<_>>()))];
    for (prefix, model) in &models {
        let temperature = (!model.has_probabilities()).then_some(0.5);
        let options = Options { prefix: prefix.clone(), temperature, ..Options::default() };
        sources.push((format!("{prefix}.c"), text(model, Format::C, &options)));
    }
    let Some(printed) = run(&sources) else { return };
    let mut lines = printed.lines().map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<f64>>());
    for (_, model) in &models {
        let lines: Vec<Vec<f64>> = lines.by_ref().take(rows().1.len()).collect();
        let classes: Vec<u32> = lines.iter().map(|l| l[0] as u32).collect();
        assert_same(model, &lines.iter().flat_map(|l| l[1..5].to_vec()).collect::<Vec<_>>(), &classes);
        let expected = match model.probabilities(&features()).unwrap() {
            Some(native) => native,
            None => tempered(&model.scores(&features()).unwrap(), 0.5),
        };
        assert_close(&expected, &lines.iter().flat_map(|l| l[5..9].to_vec()).collect::<Vec<_>>());
    }
}

#[test]
fn any_class_name_is_a_literal() {
    let names = ["@_scores", "a\"b\\c", "??/", "naïve\n", "%s*/"];
    let data = Dataset::from_labels(Features::dense(vec![0.0, 1.0, 2.0, 3.0, 4.0], 5, 1).unwrap(), &names).unwrap();
    let model = Spec::default().with_usual_lambda().fit(&data).unwrap();
    let main = "#include <stdio.h>\nextern const char *const m3svm_classes[5];\n\
                int main(void) { for (int k = 0; k < 5; k++) printf(\"%s|\", m3svm_classes[k]); return 0; }\n";
    let source = text(&model, Format::C, &Options::default());
    let Some(printed) = run(&[("main.c".into(), main.into()), ("model.c".into(), source)]) else { return };
    assert_eq!(printed, model.classes().iter().map(|c| format!("{c}|")).collect::<String>());
}

#[test]
fn a_prefix_is_a_word() {
    for wrong in ["", "1a", "_a", "a b", "a-b", "é", "a;"] {
        let options = Options { prefix: wrong.into(), ..Options::default() };
        assert!(matches!(export(&model(Method::Lr), Format::C, &options), Err(Error::Prefix { .. })), "{wrong}");
    }
}

fn prefix(name: &str) -> String {
    name.replace('-', "_")
}

fn tempered(scores: &[f64], temperature: f64) -> Vec<f64> {
    let softmax = |row: &[f64]| {
        let powers: Vec<f64> = row.iter().map(|s| (s / temperature).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |p| p / sum).collect::<Vec<f64>>()
    };
    scores.chunks(4).flat_map(softmax).collect()
}

/// Prints, for every model and row: the class, the scores, the probabilities.
fn program(prefixes: &[&str]) -> String {
    let (x, y) = rows();
    let mut out = format!("#include <stdio.h>\nstatic const double rows[{}][3] = {{\n", y.len());
    for row in x.chunks(3) {
        out += &format!("{{ {:?}, {:?}, {:?} }},\n", row[0], row[1], row[2]);
    }
    out += "};\n";
    for p in prefixes {
        out += &format!(
            "int {p}_predict(const double *x);\nvoid {p}_scores(const double *x, double *s);\n\
             void {p}_probabilities(const double *x, double *s);\n"
        );
    }
    out += "int main(void)\n{\n    double s[4], p[4];\n";
    for name in prefixes {
        out += &format!(
            "    for (int i = 0; i < {}; i++) {{
        {name}_scores(rows[i], s);
        {name}_probabilities(rows[i], p);
        printf(\"%d %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\\n\", {name}_predict(rows[i]),
            s[0], s[1], s[2], s[3], p[0], p[1], p[2], p[3]);
    }}\n",
            y.len()
        );
    }
    out + "    return 0;\n}\n"
}

/// What the program prints; `None` if there is no compiler.
pub(crate) fn run(sources: &[(String, String)]) -> Option<String> {
    let found = Command::new("cc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        eprintln!("LEFT OUT: there is no C compiler `cc`");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compiler = Command::new("cc");
    compiler.current_dir(folder.path()).args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-o", "program"]);
    for (name, source) in sources {
        std::fs::write(folder.path().join(name), source).unwrap();
        compiler.arg(name);
    }
    let compiled = compiler.arg("-lm").output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(Path::new(folder.path()).join("program")).output().unwrap();
    assert!(ran.status.success());
    Some(String::from_utf8(ran.stdout).unwrap())
}
