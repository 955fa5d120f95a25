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
