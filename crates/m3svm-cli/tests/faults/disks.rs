//! Disks that are full, folders that cannot be written to.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use m3svm::Model;

use crate::Random;
use crate::lab::{Lab, names, said};

/// Files may not grow beyond so many blocks of 512 bytes; the program takes it like a full disk, not for its end.
fn limit(blocks: usize) -> String {
    format!("ulimit -f {blocks}")
}

/// The model of an output that could not be written is where the error says, or there was no room for it anywhere.
fn kept(lab: &Lab, output: &Output, p: f64) -> &'static str {
    let told = said(output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    lab.check_end(output);
    let Some((_, path)) = told.split_once("; it is kept as ") else { return "old model, no room for the new one" };
    let path = Path::new(path.trim_end());
    assert_eq!(Model::load(path).unwrap().spec().penalty.p(), Some(p));
    std::fs::remove_file(path).unwrap();
    "old model, the new one kept"
}

pub(crate) fn limited_train(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (old, p) = (lab.bytes("model.m3svm"), lab.other_p("model.m3svm", random));
    let arguments = format!("train iris.csv --p {p} -o model.m3svm");
    // A model has three blocks.
    let output = lab.after(&limit(random.below(5)), &arguments).output().unwrap();
    match lab.model_is("model.m3svm", &old, p) {
        "old model" => Ok(kept(lab, &output, p)),
        new => {
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            Ok(new)
        }
    }
}

pub(crate) fn limited_tune(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    for _ in 0..1 + random.below(3) {
        let output = lab.after(&limit(1 + random.below(16)), &lab.resumed(true)).output().unwrap();
        lab.check_end(&output);
        assert!(output.status.code().is_some(), "{output:?}");
    }
    lab.finish(true);
    Ok("same result")
}

/// A small file system of its own, filled up but for a few kilobytes.
pub(crate) fn full(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let disk = lab.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        std::fs::remove_dir(&disk).unwrap();
        return Err("LEFT OUT: only root can mount");
    }
    lab.succeed("train iris.csv --p 2.5 -o disk/model.m3svm");
    let old = lab.bytes("disk/model.m3svm");
    // Pages of 4 kB: the model takes one, and a temporary file for it another.
    let pages = 11 + random.below(5);
    std::fs::write(disk.join("filler"), vec![0; 4096 * pages]).unwrap();
    let outcome = if random.below(2) == 0 {
        let output = lab.command("train iris.csv --p 3.5 -o disk/model.m3svm").output().unwrap();
        match lab.model_is("disk/model.m3svm", &old, 3.5) {
            "old model" => kept(lab, &output, 3.5),
            new => new,
        }
    } else {
        let arguments = lab.resumed(true).replace("journal", "disk/journal");
        lab.check_end(&lab.command(&arguments).output().unwrap());
        std::fs::remove_file(disk.join("filler")).unwrap();
        // What is in the journal is enough to go on.
        std::fs::copy(disk.join("journal"), lab.path("journal")).unwrap();
        lab.finish(true);
        "same result"
    };
    let left: Vec<String> = names(&disk).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    std::fs::remove_dir(&disk).unwrap();
    Ok(outcome)
}

/// As somebody who may not write there; root may write everywhere.
pub(crate) fn read_only(lab: &Lab, random: &mut Random) -> Result<&'static str, &'static str> {
    let (folder, top) = (lab.path("closed"), lab.path("."));
    let open = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(lab.path("model.m3svm"), folder.join("model.m3svm")).unwrap();
    open(&folder.join("model.m3svm"), 0o666);
    open(&folder, 0o555);
    open(&top, 0o755);
    let old = lab.bytes("closed/model.m3svm");
    let name = random.one_of(&["closed/model.m3svm", "closed/new.m3svm", "closed/new/"]);
    // Hours of work, were it begun.
    let option = random.one_of(&["-o", "--report", "--trace"]);
    let arguments = format!("train iris.csv --solver adam --max-iter 1000000000 --tol 1e-300 {option} {name}");
    let direct = lab.command(&arguments);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(direct.get_program());
    command.args(direct.get_args()).current_dir(&top);
    let may = std::fs::File::create(folder.join("probe")).is_ok();
    let outcome = match may {
        // We are somebody who may: somebody else is needed.
        true => std::fs::remove_file(folder.join("probe")).map(|()| command.output().unwrap()).unwrap(),
        false => lab.command(&arguments).output().unwrap(),
    };
    let told = said(&outcome);
    assert_eq!(lab.bytes("closed/model.m3svm"), old);
    assert_eq!(names(&folder), ["model.m3svm"]);
    open(&folder, 0o755);
    std::fs::remove_dir_all(&folder).unwrap();
    if told.starts_with("setpriv") {
        return Err("LEFT OUT: root cannot become somebody else here");
    }
    assert_eq!(outcome.status.code(), Some(1), "{told}");
    lab.check_end(&outcome);
    Ok("refused before any work")
}
