//! Tests of writing files in one step.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use super::*;

fn write(path: &Path, text: &str) -> Result<()> {
    write_file(path, |out| out.write_all(text.as_bytes()))
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, "old").unwrap();
    let failed = write_file(&path, |out| {
        out.write_all(b"new, but not all of it")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    });
    assert_eq!(failed.unwrap_err().to_string(), format!("{}: no storage space", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn places_where_no_file_can_be_are_refused_early() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none").join("file");
    let expected = format!("{}: the folder does not exist", missing.display());
    assert_eq!(check_writable(&missing).unwrap_err().to_string(), expected);
    assert_eq!(write(&missing, "x").unwrap_err().to_string(), expected);
    for name in ["new/", "new/."] {
        let refused = check_writable(&folder.path().join(name)).unwrap_err().to_string();
        assert!(refused.ends_with(": expected the name of a file, found that of a folder"), "{refused}");
        assert!(write(&folder.path().join(name), "x").is_err());
    }
    assert!(check_writable(folder.path()).is_err());
    assert!(write(folder.path(), "x").is_err());
    check_writable(&folder.path().join("file")).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_files_have_the_usual_permissions_and_old_ones_keep_theirs() {
        let folder = tempfile::tempdir().unwrap();
        let (usual, path) = (folder.path().join("usual"), folder.path().join("file"));
        fs::write(&usual, "x").unwrap();
        write(&path, "x").unwrap();
        assert_eq!(mode(&path), mode(&usual));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, "y").unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[test]
    fn links_are_followed_even_to_files_that_do_not_exist_yet() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub/link", at("link")).unwrap();
        symlink("real", at("sub/link")).unwrap();
        for text in ["first", "second"] {
            write(&at("link"), text).unwrap();
            assert_eq!(fs::read_to_string(at("sub/real")).unwrap(), text);
            assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
            assert!(fs::symlink_metadata(at("sub/link")).unwrap().is_symlink());
        }
        symlink("loop", at("loop")).unwrap();
        assert!(write(&at("loop"), "x").is_err());
    }

    #[test]
    fn one_file_is_known_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("file"), "x").unwrap();
        fs::write(at("other"), "x").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("../link", at("sub/chain")).unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("sub", at("folder")).unwrap();
        symlink("sub/new", at("dangling")).unwrap();
        for name in ["file", "link", "sub/chain", "folder/chain", "hard", "sub/../file", "./file"] {
            assert!(same_file(&at("file"), &at(name)), "{name}");
            let refused = check_apart(&at(name), &[at("other"), at("file")]).unwrap_err().to_string();
            assert!(refused.ends_with(&format!("would replace the input {}", at("file").display())), "{refused}");
            check_apart(&at("other"), &[at(name)]).unwrap();
        }
        // Files that are not there yet.
        for name in ["sub/new", "folder/new", "dangling"] {
            assert!(same_file(&at("sub/new"), &at(name)) && !same_file(&at("new"), &at(name)), "{name}");
        }
    }

    #[test]
    fn what_took_long_to_make_is_kept_where_it_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none").join("a.m3svm");
        let Err(Error::Kept { path: named, kept, .. }) = write_or_keep(&path, b"content") else { panic!() };
        assert_eq!((named, fs::read(&kept).unwrap()), (path, b"content".to_vec()));
        assert_eq!(kept.extension().unwrap(), "m3svm");
        fs::remove_file(kept).unwrap();
        let path = folder.path().join("a.m3svm");
        write_or_keep(&path, b"content").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_stay_devices() {
        let device = |path: &Path| fs::metadata(path).unwrap().file_type().is_char_device();
        write(Path::new("/dev/null"), "x").unwrap();
        assert!(device(Path::new("/dev/null")));
        let full = write(Path::new("/dev/full"), "x").unwrap_err().to_string();
        assert!(full.starts_with("/dev/full: No space left"), "{full}");
        assert!(device(Path::new("/dev/full")));
        check_writable(Path::new("/dev/full")).unwrap();
    }
}
