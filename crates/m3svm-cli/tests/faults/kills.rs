//! Kills and signals at random moments.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::Random;
use crate::lab::{Lab, MODELS, names, send};

pub(crate) fn train(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (data, model) = random.one_of(&MODELS);
    let (old, p) = (lab.bytes(model), lab.other_p(model, random));
    let child = lab.start(&format!("train {data} --p {p} --max-iter 3 -o {model}"));
    std::thread::sleep(random.moment(lab.train_takes));
    killed(child);
    Ok(lab.model_is(model, &old, p))
}

/// At the moment when a temporary file is there.
pub(crate) fn writing(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (data, model) = random.one_of(&MODELS);
    let (old, p) = (lab.bytes(model), lab.other_p(model, random));
    let mut child = lab.start(&format!("train {data} --p {p} --max-iter 3 -o {model}"));
    let temporary = || names(&lab.path(".")).into_iter().find(|name| name.starts_with(".m3svm-"));
    // The first one is made, empty, before any work.
    let written = || temporary().is_some_and(|name| lab.path(&name).metadata().is_ok_and(|found| found.len() > 0));
    let whole = random.below(4) > 0;
    while child.try_wait().unwrap().is_none() && !if whole { written() } else { temporary().is_some() } {}
    std::thread::sleep(random.moment(Duration::from_micros(500)));
    killed(child);
    Ok(lab.model_is(model, &old, p))
}

pub(crate) fn tune(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    again_and_again(lab, random, true)
}

pub(crate) fn compare(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    again_and_again(lab, random, false)
}

fn again_and_again(lab: &Lab, random: &mut Random, tune: bool) -> Result<&'static str, &'static str> {
    let takes = if tune { lab.tune_takes } else { lab.compare_takes };
    for _ in 0..1 + random.below(4) {
        let child = lab.start(&lab.resumed(tune));
        std::thread::sleep(random.moment(takes));
        killed(child);
        tear(lab, random);
    }
    lab.finish(tune);
    Ok("same result")
}

pub(crate) fn reproduce(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    for _ in 0..1 + random.below(3) {
        let child = lab.start(&lab.reproducing());
        std::thread::sleep(random.moment(lab.reproduce_takes));
        killed(child);
    }
    lab.finish_reproducing();
    Ok("same files")
}

/// Sometimes takes some bytes off the end of the journal, as a crash of the machine might.
fn tear(lab: &Lab, random: &mut Random) {
    let journal = lab.path("journal");
    let (Ok(found), 0) = (journal.metadata(), random.below(2)) else { return };
    let file = std::fs::File::options().write(true).open(journal).unwrap();
    file.set_len(found.len().saturating_sub(random.below(300) as u64)).unwrap();
}

pub(crate) fn signal_train(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (old, p) = (lab.bytes("model.m3svm"), lab.other_p("model.m3svm", random));
    // Half of them would never end by themselves.
    let endless = random.below(2) == 0;
    let more = if endless { "--solver adam --max-iter 1000000000 --tol 1e-300" } else { "" };
    let child = lab.start(&format!("train iris.csv --p {p} -o model.m3svm {more}"));
    std::thread::sleep(random.moment(lab.train_takes.mul_f64(1.5)));
    let started = Instant::now();
    signalled(&child, random);
    let output = child.wait_with_output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "it did not end");
    lab.check_end(&output);
    let model = lab.model_is("model.m3svm", &old, p);
    // Before it heeds signals one ends it at once, and before the first iteration there is nothing to keep.
    assert_eq!(model, if output.status.code() == Some(0) { "new model" } else { "old model" });
    Ok(model)
}

pub(crate) fn signal_tune(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    for _ in 0..1 + random.below(3) {
        let child = lab.start(&lab.resumed(true));
        std::thread::sleep(random.moment(lab.tune_takes));
        signalled(&child, random);
        lab.check_end(&child.wait_with_output().unwrap());
    }
    lab.finish(true);
    Ok("same result")
}

/// One of the signals that ask a program to end, sometimes twice at once.
fn signalled(child: &Child, random: &mut Random) {
    // Where we ignore one, so did the program until it heeded signals, and SIGHUP ever after.
    let heeded: Vec<&str> =
        ["-INT", "-TERM", "-HUP"].into_iter().zip([2, 15, 1]).filter(|(_, n)| !ignored(*n)).map(|s| s.0).collect();
    send(random.one_of(&heeded), 1 + random.below(2), child);
}

fn ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1)
}

fn killed(mut child: Child) {
    // It may be gone already.
    let _ = child.kill();
    child.wait_with_output().unwrap();
}
