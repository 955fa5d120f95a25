//! Data that does not fit into memory.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::{Lab, stderr};

/// So little that not even these few rows fit.
const LITTLE: &str = "--memory 20KB";

/// Rows of iris with a little noise, in files that are sorted by class.
fn lab(repeats: usize) -> Lab {
    let lab = Lab::iris();
    std::fs::create_dir_all(lab.path("parts")).unwrap();
    std::fs::create_dir_all(lab.path("tmp")).unwrap();
    let text = lab.read("iris.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    for (k, rows) in rows.chunks(30).enumerate() {
        let mut part = format!("{header}\n");
        for repeat in 0..repeats {
            for (i, row) in rows.iter().enumerate() {
                let (first, rest) = row.split_once(',').unwrap();
                let noise = ((i * 31 + repeat * 17 + k) % 23) as f64 / 100.0;
                part += &format!("{},{rest}\n", first.parse::<f64>().unwrap() + noise);
            }
        }
        lab.write(&format!("parts/part-{k}.csv"), &part);
    }
    lab.write("parts/empty.csv", "");
    lab
}

fn left(lab: &Lab) -> usize {
    std::fs::read_dir(lab.path("tmp")).unwrap().count()
}

/// The program with a folder for temporary files of its own.
fn run(lab: &Lab, arguments: &str) -> std::process::Output {
    let output = lab.command(arguments).env("TMPDIR", lab.path("tmp")).output().unwrap();
    assert_eq!(left(lab), 0, "{arguments}");
    output
}

fn json(lab: &Lab, arguments: &str) -> serde_json::Value {
    let output = run(lab, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn near(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    (a.as_f64().unwrap() / b.as_f64().unwrap() - 1.0).abs() < 1e-6
}

#[test]
fn folders_and_patterns_and_files_are_one_table_in_memory_or_not() {
    let lab = lab(3);
    let whole = json(&lab, "train parts --json --tol 1e-7");
    assert_eq!((&whole["rows"], &whole["passes"]), (&450.into(), &serde_json::Value::Null));
    for files in
        ["parts", "parts/*.csv", "parts/part-4.csv parts/part-1.csv parts/part-0.csv parts/part-2.csv parts/part-3.csv"]
    {
        for method in ["m3svm", "lr", "ww", "cs", "ovr", "smlr"] {
            let streamed =
                json(&lab, &format!("train {files} --lambda 0.1 --json --tol 1e-7 --method {method} {LITTLE}"));
            let whole = json(&lab, &format!("train {files} --lambda 0.1 --json --tol 1e-7 --method {method}"));
            let place = format!("{files} {method}: {streamed} {whole}");
            assert!(streamed["passes"].as_u64() > Some(0), "{place}");
            assert_eq!((&streamed["rows"], &streamed["stop"]), (&450.into(), &"converged".into()), "{place}");
            assert!(near(&streamed["objective"], &whole["objective"]), "{place}");
            assert_eq!(streamed["support_vectors"].is_null(), whole["support_vectors"].is_null(), "{place}");
        }
    }
}

#[test]
fn one_file_streams_where_it_does_not_fit_and_its_model_is_like_any_other() {
    let lab = lab(3);
    let output = run(&lab, "train iris.csv --memory 10KB -o small.m3svm");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("note: the rows did not fit into memory"), "{}", stderr(&output));
    let output =
        run(&lab, &format!("train parts --tol 1e-6 --report page.html --trace steps.csv {LITTLE} -o model.m3svm"));
    assert!(
        stderr(&output).starts_with("note: the rows did not fit into memory and were read "),
        "{}",
        stderr(&output)
    );
    assert!(lab.read("page.html").contains("Settings") && lab.read("steps.csv").lines().count() > 2);
    assert!(lab.json("evaluate model.m3svm iris.csv --json")["accuracy"].as_f64() > Some(0.9));
    let refused = stderr(&run(&lab, &format!("train parts --method ovo {LITTLE}")));
    assert!(refused.contains("cannot minimise a problem for every pair of classes"), "{refused}");
}

#[test]
fn a_cache_is_kept_where_it_is_asked_for_and_only_for_the_same_files() {
    let lab = lab(3);
    let train = format!("train parts --json --tol 1e-6 {LITTLE} --cache cache");
    let first = json(&lab, &train);
    let names = |lab: &Lab| -> Vec<String> {
        let entries = std::fs::read_dir(lab.path("cache")).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(&lab), ["rows.m3svm-cache"]);
    let again = json(&lab, &train);
    assert_eq!(again["objective"], first["objective"]);
    // Other settings use the same rows.
    assert_eq!(json(&lab, &format!("{train} --method lr"))["stop"], "converged");
    let other = stderr(&run(&lab, &format!("{train} --label sepal_length")));
    assert!(other.contains("it holds other data or other columns; remove it or choose another folder"), "{other}");
    let mut bytes = std::fs::read(lab.path("cache/rows.m3svm-cache")).unwrap();
    bytes[2000] ^= 1;
    std::fs::write(lab.path("cache/rows.m3svm-cache"), bytes).unwrap();
    let damaged = stderr(&run(&lab, &train));
    assert!(
        damaged.contains("rows.m3svm-cache: the cache of rows cannot be used: block ")
            && damaged.contains("has been damaged on disk"),
        "{damaged}"
    );
}

/// Files can claim a length that nothing on the disk stands for.
#[test]
fn a_cache_that_is_larger_than_memory_is_refused_before_it_is_read() {
    let lab = lab(1);
    std::fs::create_dir(lab.path("cache")).unwrap();
    let mut file = std::fs::File::create(lab.path("cache/rows.m3svm-cache")).unwrap();
    let length = 1u64 << 43;
    file.set_len(length).unwrap();
    file.seek(SeekFrom::End(-20)).unwrap();
    file.write_all(&[&[0; 4][..], &(length - 20).to_le_bytes(), b"m3svmrow"].concat()).unwrap();
    let output = run(&lab, &format!("train parts --json {LITTLE} --cache cache"));
    let expected = "error: what there is to know of the cached rows needs about 8.8 TB, and the memory budget is 20 KB (--memory)\n";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), expected));
}

#[test]
fn outputs_and_caches_do_not_get_in_each_others_way() {
    let lab = lab(3);
    let train = format!("train parts --tol 1e-3 {LITTLE}");
    assert!(run(&lab, &format!("{train} --cache cache")).status.success());
    let kept = std::fs::read(lab.path("cache/rows.m3svm-cache")).unwrap();
    let replaced = stderr(&run(&lab, &format!("{train} --cache cache -o cache/rows.m3svm-cache")));
    assert!(replaced.contains("the output would replace the input cache/rows.m3svm-cache"), "{replaced}");
    assert_eq!(std::fs::read(lab.path("cache/rows.m3svm-cache")).unwrap(), kept);
    // What a training leaves in the folder of its data is no data for the next one.
    for _ in 0..2 {
        let output = run(&lab, &format!("{train} --cache parts -o parts/model.m3svm"));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert!(lab.path("parts/rows.m3svm-cache").is_file());
    // Nor is anything but a file a cache.
    std::fs::create_dir_all(lab.path("other/rows.m3svm-cache")).unwrap();
    let no_file = stderr(&run(&lab, &format!("{train} --cache other")));
    assert!(no_file.contains("it is no file; choose another folder"), "{no_file}");
}

/// A pipe that nobody writes to would be waited for.
#[cfg(unix)]
#[test]
fn a_pipe_is_no_cache() {
    let lab = lab(3);
    std::fs::create_dir_all(lab.path("cache")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(lab.path("cache/rows.m3svm-cache")).status().unwrap();
    assert!(made.success());
    let refused = stderr(&run(&lab, &format!("train parts {LITTLE} --cache cache")));
    assert!(refused.contains("it is no file; choose another folder"), "{refused}");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name() {
    let lab = lab(3);
    let good = lab.read("parts/part-3.csv");
    let rows: Vec<&str> = good.lines().collect();
    let (before, _) = rows[3].split_once(',').unwrap();
    lab.write("parts/part-3.csv", &good.replacen(before, "NaN", 1));
    // A gap, as in a file in memory, and an error where gaps are to be.
    let error = stderr(&run(&lab, &format!("train parts {LITTLE} --missing error")));
    assert!(error.contains("part-3.csv: line ") && error.contains("a cell is missing"), "{error}");
    lab.write("parts/part-3.csv", &good.replacen(before, "inf", 1));
    let error = stderr(&run(&lab, &format!("train parts {LITTLE}")));
    assert!(error.contains("part-3.csv: line ") && error.contains("expected a"), "{error}");
    lab.write("parts/part-3.csv", &good.replacen(rows[0].split(',').next().unwrap(), "other", 1));
    let error = stderr(&run(&lab, &format!("train parts {LITTLE}")));
    assert!(error.contains("part-3.csv: its feature 1 is called \"other\""), "{error}");
    let error = stderr(&run(&lab, "train nothing/*.csv"));
    assert!(error.contains("nothing/*.csv: there are no files"), "{error}");
}

/// Files may not grow beyond a kilobyte or so, as on a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_under_the_cache_is_an_error_with_its_place() {
    let lab = lab(20);
    for cache in ["", "--cache cache"] {
        let script = format!("ulimit -f 8; exec \"$0\" train parts {LITTLE} {cache}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]).arg(assert_cmd::cargo::cargo_bin!("m3svm"));
        let output = command.current_dir(lab.path(".")).env("TMPDIR", lab.path("tmp")).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let told = stderr(&output);
        let place = if cache.is_empty() { "tmp" } else { "cache" };
        assert!(
            told.contains(place) && told.contains("the cache of rows cannot be used: it cannot be written"),
            "{told}"
        );
        let left = |name: &str| std::fs::read_dir(lab.path(name)).map_or(0, Iterator::count);
        assert_eq!((left("tmp"), left("cache")), (0, 0), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_the_best_model_so_far_and_leaves_nothing_else() {
    let lab = lab(400);
    let train = "train parts --memory 400KB --tol 1e-14 --trace steps.csv -o best.m3svm --json";
    let mut command = lab.command(train);
    let command = command.env("TMPDIR", lab.path("tmp"));
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let steps = |path: &Path| std::fs::read_to_string(path).map_or(0, |text| text.lines().count());
    while steps(&lab.path("steps.csv")) < 3 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["stop"], "interrupted", "{answer}");
    assert!(answer["objective"].as_f64().unwrap().is_finite());
    assert_eq!(left(&lab), 0);
    lab.text("inspect best.m3svm");
}

#[test]
fn predictions_and_their_quality_are_those_of_the_files_one_by_one() {
    let lab = lab(3);
    lab.text("train parts -o m.m3svm");
    let out = |arguments: &str| {
        let output = run(&lab, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let mut whole = String::new();
    for k in 0..5 {
        let text = out(&format!("predict m.m3svm parts/part-{k}.csv --scores"));
        let (header, rows) = text.split_once('\n').unwrap();
        whole = if k == 0 { format!("{header}\n{rows}") } else { whole + rows };
    }
    assert_eq!(out("predict m.m3svm parts --scores"), whole);
    assert_eq!(out("predict m.m3svm 'parts/*.csv' --scores --memory 30KB".replace('\'', "").as_str()), whole);
    let rows = |k: usize| lab.read(&format!("parts/part-{k}.csv")).split_once('\n').unwrap().1.to_string();
    let header = lab.read("parts/part-0.csv").lines().next().unwrap().to_string();
    lab.write("all.csv", &format!("{header}\n{}", (0..5).map(rows).collect::<String>()));
    assert_eq!(out("predict m.m3svm all.csv --scores --memory 30KB"), whole);
    let quality = out("evaluate m.m3svm all.csv --json --top-k 2");
    assert_eq!(out("evaluate m.m3svm all.csv --json --memory 30KB --top-k 2"), quality);
    assert_eq!(out("evaluate m.m3svm parts --json --top-k 2"), quality);
}

#[test]
fn a_bad_cell_is_named_with_its_file_and_nothing_is_left() {
    let lab = lab(1);
    lab.text("train parts -o m.m3svm");
    let mut lines: Vec<String> = lab.read("parts/part-3.csv").lines().map(String::from).collect();
    lines[3] = lines[3].replacen(|c: char| c.is_ascii_digit(), "inf", 1);
    lab.write("parts/part-3.csv", &(lines.join("\n") + "\n"));
    for arguments in ["train parts -o new", "train parts -o new --memory 20KB", "predict m.m3svm parts -o new.csv"] {
        let output = run(&lab, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        let told = stderr(&output);
        assert!(told.contains("part-3.csv: line 4, column"), "{arguments}: {told}");
    }
    assert!(!lab.path("new").exists() && !lab.path("new.csv").exists());
}

#[test]
fn a_search_over_files_chooses_as_one_over_rows_in_memory() {
    let lab = lab(3);
    for options in ["--lambda 1e-3,1,1e3 --p 2,4", "--method ovr --lambda 1e-2,10,1e4 --metric balanced --repeats 2"] {
        let tune = format!("tune parts --folds 3 --no-discard --json --tol 1e-7 --search-tol 1e-6 {options}");
        let (whole, streamed) = (json(&lab, &tune), json(&lab, &format!("{tune} {LITTLE} --cache {}", options.len())));
        for name in ["lambda", "p"] {
            assert_eq!(streamed["chosen"][name], whole["chosen"][name], "{streamed} {whole}");
        }
        assert_eq!((&streamed["fits"], &streamed["rows"]), (&whole["fits"], &450.into()));
        assert!(near(&streamed["model"]["objective"], &whole["model"]["objective"]), "{streamed} {whole}");
        // The cache serves other commands on the same files.
        assert!(json(&lab, &format!("train parts --json {LITTLE} --cache {}", options.len()))["passes"].is_u64());
    }
    let output = run(&lab, &format!("tune parts --lambda 1,10 --p 4 --folds 2 {LITTLE} -o tuned.m3svm"));
    assert!(stderr(&output).contains("note: the rows do not fit into memory: every fit of the search reads them"));
    assert!(lab.json("evaluate tuned.m3svm iris.csv --json")["accuracy"].as_f64() > Some(0.9));
    for option in ["--nested", "--resume journal", "--groups species"] {
        let refused = stderr(&run(&lab, &format!("tune parts {option} {LITTLE}")));
        let name = option.split(' ').next().unwrap();
        assert!(refused.contains(&format!("`{name}` needs one file that fits into memory")), "{refused}");
    }
    let refused = stderr(&run(&lab, &format!("tune parts --metric log-loss {LITTLE}")));
    assert!(refused.contains("the log-loss of a loss without probabilities"), "{refused}");
}

#[test]
fn columns_of_every_kind_stream() {
    let lab = Lab::iris();
    std::fs::create_dir_all(lab.path("tmp")).unwrap();
    std::fs::create_dir_all(lab.path("parts")).unwrap();
    let row = |i: usize| {
        let (age, town) = (20 + i * 7 % 50, ["Oslo", "Rome", "", "Bergen"][i * i % 7 % 4]);
        format!("{i},{age},{town},2021-03-{:02},{}\n", 1 + i % 28, ["red", "green"][(age > 40 + i % 5) as usize])
    };
    let text = |rows: std::ops::Range<usize>| format!("id,age,town,day,colour\n{}", rows.map(row).collect::<String>());
    lab.write("all.csv", &text(0..300));
    (0..3).for_each(|k| lab.write(&format!("parts/{k}.csv"), &text(100 * k..100 * k + 100)));
    let whole = json(&lab, "train all.csv --lambda 0.1 --json -o whole");
    let streamed = json(&lab, &format!("train parts --lambda 0.1 --json -o streamed {LITTLE}"));
    assert!(streamed["passes"].as_u64() > Some(0) && near(&streamed["objective"], &whole["objective"]), "{streamed}");
    assert_eq!(streamed["features"], whole["features"]);
    assert_eq!(lab.text("predict streamed all.csv"), lab.text("predict whole all.csv"));
    let told = stderr(&run(&lab, &format!("train parts {LITTLE}")));
    assert!(told.starts_with("note: left out: `id` (its numbers count the rows)"), "{told}");
}
