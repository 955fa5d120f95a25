//! The report in a real browser, driven over its debugging pipe: figures have a size, nothing complains, nothing is loaded.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Lab;

/// Far more than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_report_is_fit_to_be_seen() {
    let Some(program) = Browser::find() else {
        // Not with a macro, whose output a passing test hides.
        let _ = writeln!(std::io::stderr(), "left out: no browser");
        return;
    };
    let lab = Lab::iris();
    lab.write("evil.csv", &lab.read("iris.csv").replace("setosa", "<script>alert(1)</script><b>&amp;"));
    let many = (0..60).map(|i| format!("{},{},class {:02}\n", (i % 30) * (i % 7), i % 11, i % 30));
    lab.write("many.csv", &many.collect::<String>());
    for name in ["iris", "evil", "many"] {
        lab.text(&format!("train {name}.csv --tol 1e-3 --report {name}.html"));
    }
    lab.text("tune evil.csv --folds 2 --report tune.html");
    lab.text("tune many.csv --folds 2 --method lr --lambda 0.1:10:3 --tol 1e-3 --report curve.html");
    lab.text("compare iris.csv --folds 2 --repeats 1 --report compare.html");
    let mut browser = Browser::start(&program);
    let evil = "<script>alert(1)</script><b>&amp;";
    // Maps of many classes are wider than a phone, and must scroll by themselves.
    for (page, count, name) in [
        ("iris.html", 5, "setosa"),
        ("evil.html", 5, evil),
        ("many.html", 5, "class 00"),
        ("tune.html", 4, evil),
        ("curve.html", 4, "class 00"),
        ("compare.html", 1, "pairwise-lr"),
    ] {
        for (width, dark) in [(1200, false), (360, true)] {
            let seen = browser.look(&lab.path(page), width, dark);
            let about = format!("{page} at {width}: {seen}");
            let figures = seen["figures"].as_array().unwrap();
            assert_eq!(figures.len(), count, "{about}");
            for figure in figures {
                assert!(figure["width"].as_f64() > Some(200.0) && figure["height"].as_f64() > Some(100.0), "{about}");
                assert!(figure["shapes"].as_u64() > Some(10) && figure["label"].as_str() > Some("A"), "{about}");
            }
            assert!(seen["width"].as_u64() <= Some(width), "the page scrolls sideways: {about}");
            assert_eq!(seen["scripts"], 0, "{about}");
            assert!(seen["names"].as_array().unwrap().iter().any(|seen| seen == name), "{about}");
            assert_eq!(seen["dark"], dark, "{about}");
            assert_eq!(browser.complaints, Vec::<String>::new(), "{about}");
            assert_eq!(browser.loaded.len(), 1, "the page and nothing else: {:?}", browser.loaded);
        }
    }
}

/// What the page looks like from the inside.
const LOOK: &str = r#"JSON.stringify({
    figures: [...document.querySelectorAll("figure svg[role=img]")].map(svg => {
        const box = svg.getBoundingClientRect();
        const shapes = svg.querySelectorAll("rect, path, circle, line, text").length;
        return { width: box.width, height: box.height, shapes, label: svg.getAttribute("aria-label") };
    }),
    width: document.documentElement.scrollWidth,
    scripts: document.scripts.length,
    names: [...document.querySelectorAll("tbody th")].map(cell => cell.textContent),
    dark: getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)",
})"#;

/// A browser without a window.
struct Browser {
    process: Child,
    to: Option<ChildStdin>,
    messages: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// Errors and warnings on the console since the page was opened.
    complaints: Vec<String>,
    /// What the page has loaded, itself included.
    loaded: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// What `M3SVM_BROWSER` names, or a known browser on the path.
    fn find() -> Option<PathBuf> {
        if let Some(named) = std::env::var_os("M3SVM_BROWSER") {
            return Some(named.into());
        }
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name))).find(|path| path.is_file())
    }

    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The browser wants its pipe at the descriptors 3 and 4.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let from = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for message in from.split(0) {
                let Ok(value) = serde_json::from_slice(&message.unwrap_or_default()) else { return };
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let to = process.stdin.take();
        let (complaints, loaded) = (Vec::new(), Vec::new());
        let mut browser =
            Self { process, to, messages, last_id: 0, session: None, complaints, loaded, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a page in a window of this width and reports what is there.
    fn look(&mut self, page: &Path, width: u64, dark: bool) -> Value {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
        self.complaints.clear();
        self.loaded.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        self.wait_for("Page.loadEventFired");
        let answer = self.call("Runtime.evaluate", json!({"expression": LOOK}));
        serde_json::from_str(answer["result"]["value"].as_str().unwrap_or_else(|| panic!("{answer}"))).unwrap()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{message}\0").as_bytes()).unwrap();
        to.flush().unwrap();
        let id = self.last_id;
        let answer = self.next(|message| message["id"] == id, method);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn wait_for(&mut self, event: &str) {
        self.next(|message| message["method"] == event, event);
    }

    /// The next message of a kind; notes on the way what the page says and loads.
    fn next(&mut self, wanted: impl Fn(&Value) -> bool, what: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|e| panic!("{what}: {e}"));
            match message["method"].as_str() {
                Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => {
                    self.complaints.push(message["params"].to_string());
                }
                Some("Network.requestWillBeSent") => {
                    // What is inside the page is no request to anywhere.
                    let url = message["params"]["request"]["url"].as_str().unwrap_or_default();
                    self.loaded.extend(Some(url.to_string()).filter(|url| !url.starts_with("data:")));
                }
                _ => {}
            }
            if wanted(&message) {
                return message;
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser with all its processes; killing it would leave some behind.
        if let Some(mut to) = self.to.take() {
            let _ = to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        }
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
