//! Slow and broken pipes.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use crate::Random;
use crate::lab::{Lab, said};

/// Bytes in small pieces, with pauses now and then.
fn feed(mut pipe: impl Write, bytes: &[u8], random: &mut Random) {
    let mut rest = bytes;
    let most = random.one_of(&[1, 3, 50, 4000]);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(most)).min(rest.len()));
        // The program may have seen enough.
        if pipe.write_all(piece).is_err() {
            return;
        }
        if random.below(200) == 0 {
            std::thread::sleep(random.moment(Duration::from_millis(5)));
        }
        rest = after;
    }
}

pub(crate) fn slow(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let expected = lab.succeed("predict model.m3svm iris.csv --scores").stdout;
    let data = lab.bytes("iris.csv");
    let mut child = lab.command("predict model.m3svm - --scores").stdin(Stdio::piped()).spawn().unwrap();
    feed(child.stdin.take().unwrap(), &data, random);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(output.stdout, expected);
    Ok("same result")
}

pub(crate) fn cut(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (old, p) = (lab.bytes("model.m3svm"), lab.other_p("model.m3svm", random));
    let mut gzip = std::process::Command::new("gzip");
    let Ok(packed) = gzip.arg("-c").arg(lab.path("iris.csv")).output() else { return Err("LEFT OUT: no gzip") };
    // Of plain text nobody can tell whether it is all; of compressed data everybody can.
    let packed = packed.stdout;
    let short = &packed[..random.below(packed.len())];
    let arguments = format!("train - --p {p} -o model.m3svm");
    let mut child = lab.command(&arguments).stdin(Stdio::piped()).spawn().unwrap();
    feed(child.stdin.take().unwrap(), short, random);
    let output = child.wait_with_output().unwrap();
    lab.check_end(&output);
    assert_eq!((output.status.code(), lab.bytes("model.m3svm") == old), (Some(1), true), "{}", said(&output));
    Ok("refused, old model")
}

pub(crate) fn closed(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (old, p) = (lab.bytes("model.m3svm"), lab.other_p("model.m3svm", random));
    let arguments = format!("train iris.csv --p {p} -o model.m3svm --json");
    let (output, outcome) = match random.below(3) {
        0 => (lab.after("exec >&-", &arguments).output().unwrap(), "closed, new model"),
        1 => {
            let mut child = lab.start(&arguments);
            let mut out = child.stdout.take().unwrap();
            // Some of it, or nothing.
            let mut some = vec![0; random.below(2)];
            out.read_exact(&mut some).unwrap();
            drop(out);
            (child.wait_with_output().unwrap(), "left, new model")
        }
        _ => {
            let full = std::fs::File::options().write(true).open("/dev/full");
            let Ok(full) = full else { return Err("LEFT OUT: no /dev/full") };
            let output = lab.command(&arguments).stdout(full).output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            lab.check_end(&output);
            assert_eq!(lab.model_is("model.m3svm", &old, p), "new model");
            return Ok("full, error, new model");
        }
    };
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(lab.model_is("model.m3svm", &old, p), "new model");
    Ok(outcome)
}
