//! How much memory a process can still get: what the machine has free, and the limits of its control groups and of its address space.

use std::fs;
use std::path::Path;

/// The bytes that are free now; `None` where the system does not say.
pub(super) fn bytes() -> Option<u64> {
    bytes_in(Path::new("/"))
}

/// The bytes that this process holds already; 0 where the system does not say.
pub(super) fn held() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    in_kilobytes(&status, "VmRSS:").unwrap_or(0)
}

/// The same by the files under another root.
fn bytes_in(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let machine = read("proc/meminfo").and_then(|text| in_kilobytes(&text, "MemAvailable:"));
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let groups = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers.is_empty() {
            true => Some(("sys/fs/cgroup", path, ["memory.max", "memory.current"])),
            false if controllers.split(',').any(|c| c == "memory") => {
                Some(("sys/fs/cgroup/memory", path, ["memory.limit_in_bytes", "memory.usage_in_bytes"]))
            }
            false => None,
        }
    });
    let groups = groups.filter_map(|(base, path, files)| group(&root.join(base), path, files)).min();
    let limits = read("proc/self/limits").unwrap_or_default();
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let limit = limit.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let used = || read("proc/self/status").and_then(|text| in_kilobytes(&text, "VmSize:")).unwrap_or(0);
    let address_space = limit.map(|limit| limit.saturating_sub(used()));
    [machine, groups, address_space].into_iter().flatten().min()
}

/// What is left of the limits of a control group and of those that it is in.
fn group(base: &Path, path: &str, [limit, usage]: [&str; 2]) -> Option<u64> {
    let number = |file: &Path| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    // Inside a container the path may be one of the host, which is not there: the base is then the group itself.
    let inside = base.join(path.trim_start_matches('/'));
    let folders = inside.ancestors().take_while(|folder| folder.starts_with(base));
    let left = folders.filter_map(|folder| {
        let (limit, used) = (number(&folder.join(limit))?, number(&folder.join(usage)).unwrap_or(0));
        // Cached files count as used, but make room where it is needed.
        let cached = fs::read_to_string(folder.join("memory.stat")).ok();
        let cached = cached.and_then(|text| {
            let names = ["inactive_file ", "total_inactive_file "];
            text.lines().find_map(|line| names.iter().find_map(|n| line.strip_prefix(n))?.trim().parse::<u64>().ok())
        });
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    });
    left.min()
}

/// A number of the kind `MemAvailable:   20317 kB`.
fn in_kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let free = || bytes_in(root.path());
        assert_eq!(free(), None);
        write("proc/meminfo", "MemTotal:  9000000 kB\nMemAvailable:    8000000 kB\n");
        assert_eq!(free(), Some(8_000_000 << 10));
        // Version 2: a limit above, none of its own.
        write("proc/self/cgroup", "0::/outer/inner\n");
        write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
        write("sys/fs/cgroup/outer/memory.max", "4000000\n");
        write("sys/fs/cgroup/outer/memory.current", "3000000\n");
        assert_eq!(free(), Some(1_000_000));
        write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 500000\nactive_file 7\n");
        assert_eq!(free(), Some(1_500_000));
        // Version 1, and a path that only the host has.
        write("proc/self/cgroup", "3:cpu,cpuacct:/a\n2:memory:/docker/1234\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "900000\n");
        write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
        assert_eq!(free(), Some(800_000));
        write(
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax address space         700000      unlimited bytes\n",
        );
        write("proc/self/status", "Name: x\nVmSize:     200 kB\n");
        assert_eq!(free(), Some(700_000 - 200 * 1024));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_some() {
        assert!(bytes().unwrap() > 0);
    }
}
