//! Pipes, devices, links and signals.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::{Lab, stderr, stdout};

#[test]
fn data_and_models_go_through_pipes() {
    let lab = Lab::trained();
    let output = lab.run("train iris.csv -o /dev/stdout --tol 1e-6");
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("minimum margin"));
    std::fs::write(lab.path("piped.m3svm"), &output.stdout).unwrap();
    lab.text("inspect piped.m3svm");
    let piped = |arguments: &str, input: &str| {
        let mut command = lab.command(arguments);
        // A pipe, not a file.
        let mut cat = std::process::Command::new("cat").arg(lab.path(input)).stdout(Stdio::piped()).spawn().unwrap();
        let output = command.stdin(cat.stdout.take().unwrap()).output().unwrap();
        cat.wait().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let expected = lab.text("predict iris.m3svm iris.csv");
    assert_eq!(piped("predict iris.m3svm -", "iris.csv"), expected);
    assert_eq!(piped("predict /dev/stdin iris.csv", "iris.m3svm"), expected);
    assert_eq!(lab.text("predict iris.m3svm iris.csv -o /dev/stdout"), expected);
    assert_eq!(lab.text("predict iris.m3svm iris.csv -o -"), expected);
    assert_snapshot!(lab.error("train iris.csv --json -o /dev/stdout"), @"error: `--json` and the model cannot both go to standard output");
}

#[test]
fn reports_go_through_pipes() {
    let lab = Lab::iris();
    let output = lab.run("train iris.csv --report -");
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("<!DOCTYPE html>") && stdout(&output).ends_with("</html>\n"));
    assert!(stderr(&output).contains("minimum margin"));
    assert_snapshot!(lab.error("train iris.csv --json --report -"), @"error: `--json` and the report cannot both go to standard output");
    assert_snapshot!(lab.error("train iris.csv -o - --report -"), @"error: /dev/stdout: the model and the report cannot be the same file");
    assert_eq!(lab.files(), ["iris.csv"]);
}

#[test]
fn links_are_followed() {
    let lab = Lab::trained();
    symlink("iris.m3svm", lab.path("link")).unwrap();
    let before = std::fs::read(lab.path("iris.m3svm")).unwrap();
    lab.text("train iris.csv --p 2 -o link");
    assert!(std::fs::symlink_metadata(lab.path("link")).unwrap().is_symlink());
    assert_ne!(std::fs::read(lab.path("iris.m3svm")).unwrap(), before);
    symlink("iris.csv", lab.path("data")).unwrap();
    assert_snapshot!(lab.error("train data -o iris.csv"), @"error: iris.csv: the output would replace the input data");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let lab = Lab::trained();
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv -o /dev/full"), @"error: /dev/full: No space left on device (os error 28)");
    assert_snapshot!(lab.error("export iris.m3svm --format c -o /dev/full"), @"error: /dev/full: No space left on device (os error 28)");
    assert_snapshot!(lab.error("train iris.csv --trace /dev/full -o kept.m3svm"), @"error: /dev/full: No space left on device (os error 28)");
    lab.text("inspect kept.m3svm");
    for arguments in [
        "train iris.csv",
        "predict iris.m3svm iris.csv",
        "inspect iris.m3svm",
        "demo",
        "man",
        "export iris.m3svm --format c",
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = lab.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert_eq!(stderr(&output), "error: standard output: No space left on device (os error 28)\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_took_long_to_make_is_kept_where_it_cannot_be_written() {
    let lab = Lab::iris();
    std::fs::create_dir(lab.path("temporary")).unwrap();
    // What an error says is kept, by its extension.
    let kept = |arguments: &str| -> Vec<std::path::PathBuf> {
        let output = lab.command(arguments).env("TMPDIR", "temporary").output().unwrap();
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()), "{arguments}");
        let told = stderr(&output);
        let line = |line: &str| {
            let path = line.strip_prefix("error: /dev/full: No space left on device (os error 28); it is kept as ");
            lab.path(path.unwrap_or_else(|| panic!("{told}")))
        };
        told.lines().map(line).collect()
    };
    let found = kept("train iris.csv -o /dev/full");
    lab.text(&format!("inspect {}", found[0].display()));
    let page = |path: &std::path::Path| assert!(std::fs::read_to_string(path).unwrap().ends_with("</html>\n"));
    page(&kept("train iris.csv --report /dev/full")[0]);
    page(&kept("compare iris.csv --methods lr,ww --folds 2 --repeats 1 --report /dev/full")[0]);
    // A model that cannot be written does not take the report with it.
    assert_eq!(kept("tune iris.csv --p 2 --lambda 0.1 --folds 2 -o /dev/full --report page.html").len(), 1);
    page(&lab.path("page.html"));
    assert_eq!(std::fs::read_dir(lab.path("temporary")).unwrap().count(), 4);
}

/// In a folder like `/tmp`, as somebody who may not replace the files of others there.
#[cfg(target_os = "linux")]
#[test]
fn places_that_only_look_writable_are_refused_before_any_work() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::trained();
    let as_nobody = |arguments: &str| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(assert_cmd::cargo::cargo_bin!("m3svm"));
        command.args(arguments.split_whitespace()).current_dir(lab.path("."));
        command.output().unwrap()
    };
    let open = |name: &str, mode: u32| {
        std::fs::set_permissions(lab.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(".", 0o1777);
    open("iris.m3svm", 0o666);
    if !as_nobody("inspect iris.m3svm").status.success() {
        eprintln!("LEFT OUT: only root can become somebody else, in a folder that everybody can reach");
        return;
    }
    let output = as_nobody("train iris.csv --max-iter 1 -o iris.m3svm");
    assert_eq!(output.status.code(), Some(1));
    assert_snapshot!(stderr(&output), @"error: iris.m3svm: the file belongs to someone else, and its folder lets only owners replace files");
    assert_eq!(as_nobody("train iris.csv -o own.m3svm").status.code(), Some(0));
    assert_eq!(as_nobody("train iris.csv -o own.m3svm").status.code(), Some(0));
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm", "own.m3svm"]);
}

#[test]
fn a_reader_that_leaves_early_is_fine() {
    let lab = Lab::trained();
    let rows = lab.read("iris.csv").lines().skip(1).map(|l| format!("{l}\n")).collect::<String>();
    lab.write("long.csv", &rows.repeat(200));
    for arguments in ["predict iris.m3svm long.csv --scores", "predict iris.m3svm long.csv --scores -o /dev/stdout"] {
        let mut child = lab.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("prediction,"));
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    }
}

#[test]
fn a_trace_can_be_followed_while_the_training_runs() {
    let lab = Lab::iris();
    let endless = "train iris.csv --solver adam --max-iter 1000000000 --tol 1e-300 --trace trace.csv";
    let mut child = lab.command(endless).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while std::fs::read_to_string(lab.path("trace.csv")).unwrap_or_default().lines().count() < 5 {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lab.read("trace.csv").starts_with("iteration,seconds,objective,relative_gap\n"));
    // Nothing but the trace goes there.
    for name in ["/dev/stdout", "-"] {
        let piped = lab.run(&format!("train iris.csv --trace {name}"));
        let lines = stdout(&piped);
        assert!(lines.starts_with("iteration,seconds,objective,relative_gap\n0,"), "{lines}");
        assert!(lines.lines().all(|line| line.split(',').count() == 4), "{lines}");
        assert!(stderr(&piped).contains("minimum margin"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_the_best_model_so_far() {
    let lab = Lab::iris();
    let trace = "train iris.csv --solver adam --max-iter 1000000000 --tol 1e-300 -o best.m3svm --json";
    let started = Instant::now();
    let mut child = lab.command(trace).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_handler(child.id());
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut told = String::new();
    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_snapshot!(told, @"
    note: stopping; press Ctrl-C again to abort
    note: interrupted; the best model so far is written
    ");
    let answer: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(answer["stop"], "interrupted");
    assert!(started.elapsed() < Duration::from_secs(60));
    assert_eq!(lab.files(), ["best.m3svm", "iris.csv"]);
    lab.text("inspect best.m3svm");
}

/// Waits until the process catches SIGINT; before that, Ctrl-C rightly ends it.
#[cfg(target_os = "linux")]
fn wait_for_handler(process: u32) {
    const SIGINT: u32 = 2;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGINT - 1) & 1 == 1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_search_and_its_journal_goes_on() {
    let lab = Lab::iris();
    // Hours of work.
    let search = "tune iris.csv --method lr --lambda 0.1,1 --folds 2 --repeats 10000000 --no-discard --json \
        --resume journal -o best.m3svm";
    let child = lab.command(search).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_handler(child.id());
    while lab.read("journal").lines().count() < 4 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with("note: stopping; press Ctrl-C again to abort\nnote: interrupted; "), "{told}");
    assert!(told.contains("the model of the best setting so far is written (lambda "), "{told}");
    assert!(told.contains(" of 20000000 folds; the same command goes on from journal\n"), "{told}");
    let part: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&part["interrupted"], &part["model"]["stop"]), (&true.into(), &"converged".into()));
    lab.text("predict best.m3svm iris.csv");
    // The line that was being written when the signal came may have come after the count.
    assert!(part["fits"].as_u64() >= Some(4), "{part}");
}

/// A training without end that starts with SIGHUP as it usually is or ignored, once it heeds signals.
#[cfg(target_os = "linux")]
fn endless(lab: &Lab, hangup: &str) -> std::process::Child {
    let mut command = std::process::Command::new("env");
    command.arg(hangup).arg(assert_cmd::cargo::cargo_bin!("m3svm")).current_dir(lab.path("."));
    let arguments = "train iris.csv --solver adam --max-iter 1000000000 --tol 1e-300 -o best.m3svm";
    let command = command.args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    wait_for_handler(child.id());
    child
}

#[cfg(target_os = "linux")]
fn send(signal: &str, process: u32) {
    assert!(std::process::Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn other_requests_to_end_keep_the_best_model_too() {
    for signal in ["-TERM", "-HUP"] {
        let lab = Lab::iris();
        let child = endless(&lab, "--default-signal=HUP");
        // Two at once are one request: `timeout` and terminals send them so.
        send(signal, child.id());
        send(signal, child.id());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{signal}: {}", stderr(&output));
        let expected =
            "note: stopping; send another signal to abort\nnote: interrupted; the best model so far is written\n";
        assert_eq!(stderr(&output), expected);
        lab.text("inspect best.m3svm");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_was_started_to_survive_a_hangup_does() {
    let lab = Lab::iris();
    let mut child = endless(&lab, "--ignore-signal=HUP");
    send("-HUP", child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    send("-TERM", child.id());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).starts_with("note: stopping; send another signal to abort\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn two_searches_never_share_a_journal_and_none_is_a_device() {
    let lab = Lab::iris();
    let search = "tune iris.csv --method lr --lambda 0.1,1 --folds 2 --repeats 10000000 --no-discard --resume journal";
    let child = lab.command(search).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_handler(child.id());
    assert_eq!(lab.error(search), "error: journal: another run is writing here\n");
    send("-KILL", child.id());
    child.wait_with_output().unwrap();
    for device in ["/dev/null", "/dev/stdout", "/dev/full"] {
        for command in ["tune iris.csv --p 2 --lambda 0.1", "compare iris.csv --methods lr,ww"] {
            let refused = lab.error(&format!("{command} --resume {device}"));
            assert_eq!(refused, format!("error: {device}: not a usable journal: expected a regular file\n"));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_comparison_and_writes_no_report() {
    let lab = Lab::iris();
    // Minutes of work.
    let comparison = "compare iris.csv --methods lr,ww --folds 2 --repeats 20000 --report page.html --resume journal";
    let child = lab.command(comparison).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_handler(child.id());
    while lab.read("journal").lines().count() < 4 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert_snapshot!(stderr(&output), @"
    note: stopping; press Ctrl-C again to abort
    error: interrupted; 0 of 2 methods are compared, and the same command goes on from journal
    ");
    assert_eq!(lab.files(), ["iris.csv", "journal"]);
}
