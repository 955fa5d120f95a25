//! Writes the seeds anew: `cargo run -p m3svm-fuzz --example seeds`. To be run when a format of ours has changed.
#![expect(clippy::unwrap_used, reason = "what cannot be written here is a mistake of this file")]

mod columnar;
mod matrices;

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use m3svm::penalty::{ElasticNet, Norm, Pairwise};
use m3svm::{AnyPenalty, ClassWeight, Dataset, Features, Gamma, Kernel, Method, Preparation, Scheme, Spec, TimePart};
use m3svm_fuzz::{Control, finished_journal, written_rows};
use m3svm_io::{ReadOptions, read_from};

/// Seeds of a target: names and contents, with the first byte.
type Seeds = Vec<(String, Vec<u8>)>;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    let all = [
        ("csv", [plain(&csv()), with(Control::KINDS, &kinds()), with(Control::WORDS, &words())].concat()),
        ("libsvm", plain(&libsvm())),
        ("parquet", plain(&columnar::parquet())),
        ("arrow", plain(&columnar::files())),
        ("arrow-stream", plain(&columnar::streams())),
        ("npy", plain(&matrices::npy())),
        ("npz", repaired(&matrices::npz())),
        ("mat", [plain(&matrices::mat()), repaired(&matrices::mat_plain())].concat()),
        ("jsonl", [plain(&jsonl()), with(Control::KINDS, &jsonl_kinds())].concat()),
        ("gzip", [repaired(&gzip()), with(Control::REPAIR | Control::THIRD_NAME, &gzip_libsvm())].concat()),
        ("zstd", [plain(&zstd()), with(Control::THIRD_NAME, &zstd_libsvm())].concat()),
        ("detect", plain(&mixed())),
        ("model", repaired(&models())),
        ("rows", repaired(&["weighted", "single", "sparse"].map(|name| (name, rows(name))))),
        ("journal", repaired(&[("finished", finished_journal().unwrap())])),
        ("settings", settings()),
    ];
    for (target, seeds) in all {
        let folder = folder.join(target);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for (name, content) in seeds {
            fs::write(folder.join(name), content).unwrap();
        }
    }
}

fn with(control: u8, seeds: &[(&str, Vec<u8>)]) -> Seeds {
    seeds.iter().map(|(name, content)| (name.to_string(), [&[control], content.as_slice()].concat())).collect()
}

fn plain(seeds: &[(&str, Vec<u8>)]) -> Seeds {
    with(0, seeds)
}

/// Those whose checksums are put right after every change.
fn repaired(seeds: &[(&str, Vec<u8>)]) -> Seeds {
    with(Control::REPAIR, seeds).into_iter().map(|(name, content)| (format!("{name}-repaired"), content)).collect()
}

fn csv() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("commas", b"a,b,label\n1,2,x\n3,\"4\",y\n-0.5,1e-3,\"x\"\n".to_vec()),
        ("semicolons", b"\xef\xbb\xbfa;b;\"the; class\"\r\n1;2;\"x\"\"y\"\r\n3;4;z\r\n".to_vec()),
        ("tabs", b"5.1\t3.5\tsetosa\n4.9\ttrue\tvirginica\n\n6\t3\tsetosa\n".to_vec()),
        ("labels", b"label,a,b\n01,0,1\n1e0,1,0\n2,1,1\n".to_vec()),
    ]
}

/// Columns of texts, times, truth values and gaps; the bits that ask for them name the file `t.tsv`, too.
fn kinds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("categories", b"y\ta\tb\nx\tred\t1.5\ny\tblue\t\nx\tred\t2\ny\tgreen\tNA\n".to_vec()),
        ("times", b"y\ta\tb\nx\t2024-02-29\ttrue\ny\t2023-12-31T23:59:59Z\tfalse\nx\t1.3.2021\t?\n".to_vec()),
    ]
}

fn words() -> Vec<(&'static str, Vec<u8>)> {
    vec![("words", b"y\ta\tb\nx\tthree blind mice\t7\ny\t\"see, how they run\"\t8\nx\t\t7\n".to_vec())]
}

fn jsonl() -> Vec<(&'static str, Vec<u8>)> {
    vec![("numbers", b"{\"a\": 1, \"b\": -2.5e0, \"label\": \"x\"}\n{\"b\": 3, \"a\": 4, \"label\": \"y\"}\n".to_vec())]
}

fn jsonl_kinds() -> Vec<(&'static str, Vec<u8>)> {
    let rows = [
        r#"{"y": "p", "a": "red", "b": true}"#,
        r#"{"y": "q", "a": null, "b": false}"#,
        r#"{"y": 1, "b": true, "a": "\u00e9"}"#,
    ];
    vec![("kinds", rows.join("\n").into_bytes())]
}

fn rows(name: &str) -> Vec<u8> {
    written_rows(["weighted", "single", "sparse"].iter().position(|known| *known == name).unwrap()).unwrap()
}

fn libsvm() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("from-one", b"+1 1:2 3:4.5\n-1 2:5e-3 # end\n+1 qid:3 1:1\n".to_vec()),
        ("from-zero", b"# comment\n3 0:1 7:2\n\n1 2:1\r\n3 1:-1\n".to_vec()),
    ]
}

fn gzipped(level: Compression, content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn gzip() -> Vec<(&'static str, Vec<u8>)> {
    let (stored, deflated) = (Compression::none(), Compression::best());
    vec![
        ("csv-stored", gzipped(stored, &csv()[0].1)),
        ("csv", gzipped(deflated, &csv()[0].1)),
        ("two-members", [gzipped(stored, b"1,2,a\n"), gzipped(deflated, b"3,4,b\n")].concat()),
        ("npy", gzipped(deflated, &matrices::npy()[0].1)),
    ]
}

fn gzip_libsvm() -> Vec<(&'static str, Vec<u8>)> {
    vec![("svm", gzipped(Compression::best(), &libsvm()[0].1))]
}

fn zstandard(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 3).unwrap()
}

fn zstd() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("csv", zstandard(&csv()[0].1)),
        ("long", zstandard("1.5,2,a\n3,4.25,b\n".repeat(200).as_bytes())),
        ("two-frames", [zstandard(b"1,2,a\n"), zstandard(b"3,4,b\n")].concat()),
    ]
}

fn zstd_libsvm() -> Vec<(&'static str, Vec<u8>)> {
    vec![("svm", zstandard(&libsvm()[0].1))]
}

/// One of every format.
fn mixed() -> Vec<(&'static str, Vec<u8>)> {
    let named = [
        ("csv", csv()),
        ("libsvm", libsvm()),
        ("parquet", columnar::parquet()),
        ("arrow", columnar::files()),
        ("arrow-stream", columnar::streams()),
        ("npy", matrices::npy()),
        ("npz", matrices::npz()),
        ("mat", matrices::mat()),
        ("gzip", gzip()),
        ("zstd", zstd()),
    ];
    named.into_iter().map(|(name, mut seeds)| (name, seeds.swap_remove(0).1)).collect()
}

fn data(named: bool) -> Dataset<'static> {
    let x: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 13) / 4.0).collect();
    let labels: Vec<&str> = (0..12).map(|i| ["first", "2", "c'<"][i % 3]).collect();
    let data = Dataset::from_labels(Features::dense(x, 12, 2).unwrap(), &labels).unwrap();
    if named { data.with_feature_names(vec!["a".into(), "b \"c\"".into()]).unwrap() } else { data }
}

fn models() -> Vec<(&'static str, Vec<u8>)> {
    let of = |spec: Spec, named| spec.fit(&data(named)).unwrap().to_bytes().unwrap();
    let weights = [("first".to_string(), 2.0), ("2".to_string(), 0.5)];
    let weighted = Spec { class_weight: ClassWeight::Each(weights.into()), ..Spec::default().with_usual_lambda() };
    let one_vs_one = Spec { scheme: Scheme::OneVsOne, ..Method::Ovo.spec().with_usual_lambda() };
    let rbf = Spec { kernel: Kernel::Rbf { gamma: Gamma::Scale }, ..Method::Ww.spec().with_usual_lambda() };
    let kernel = Kernel::Polynomial { degree: 2, gamma: Gamma::Auto, coef0: 1.0 };
    let cut = Spec { kernel, rank: Some(3), ..Method::Cs.spec().with_usual_lambda() };
    vec![
        ("rbf", of(rbf.clone(), true)),
        ("cut", of(cut, false)),
        ("precomputed", precomputed()),
        ("prepared", prepared(Method::Lr.spec().with_usual_lambda())),
        ("prepared-rbf", prepared(rbf)),
        ("m3svm", of(weighted, true)),
        ("one-vs-one", of(one_vs_one, false)),
        ("lr", of(Method::Lr.spec().with_usual_lambda(), true)),
        ("smlr", of(Method::Smlr.spec().with_usual_lambda(), false)),
        ("topk", of(Method::Topk.spec().with_usual_lambda(), false)),
    ]
}

fn precomputed() -> Vec<u8> {
    let values: Vec<f64> = (0..16).map(|at| f64::from(u8::from(at / 4 == at % 4)) + 1.0).collect();
    let x = Features::dense(values, 4, 4).unwrap();
    let data = Dataset::from_labels(x, &["p", "q", "p", "q"]).unwrap();
    Spec { kernel: Kernel::Precomputed, ..Method::Ovo.spec().with_usual_lambda() }
        .fit(&data)
        .unwrap()
        .to_bytes()
        .unwrap()
}

/// A model of columns of every kind.
fn prepared(spec: Spec) -> Vec<u8> {
    const TABLE: &[u8] =
        b"a,b,c,label\nred,2024-02-29,three mice,x\n,2024-03-01,,y\nblue,2023-01-05,blind mice,x\nred,,mice,y\n";
    let preparation = Preparation {
        text: vec!["c".into()],
        time_parts: vec![TimePart::Weekday],
        keep_all: true,
        ..Preparation::default()
    };
    let options = ReadOptions { preparation: Some(preparation), ..ReadOptions::default() };
    let table = read_from(TABLE, "t.csv".as_ref(), &options).unwrap();
    spec.fit(&table.into_dataset().unwrap()).unwrap().to_bytes().unwrap()
}

fn settings() -> Seeds {
    const FITTED: u8 = 2;
    const TEXT: u8 = 1;
    let mut seeds = Seeds::new();
    for method in Method::ALL {
        let json = serde_json::to_vec(&method.spec().with_usual_lambda()).unwrap();
        seeds.extend(with(FITTED, &[(method.name(), json)]));
    }
    let spec = Method::Ww.spec().with_usual_lambda();
    let with_kernel = |kernel| Spec { kernel, ..spec.clone() };
    let infinite = Pairwise::new(Norm::L2, 0.1, f64::INFINITY);
    let net = ElasticNet { lambda: 0.1, l1_ratio: 0.5 };
    let more = [
        ("rbf", with_kernel(Kernel::Rbf { gamma: Gamma::Value(0.5) })),
        ("laplacian", Spec { rank: Some(4), ..with_kernel(Kernel::Laplacian { gamma: Gamma::Scale }) }),
        ("polynomial", with_kernel(Kernel::Polynomial { degree: 3, gamma: Gamma::Auto, coef0: 1.0 })),
        ("cosine", with_kernel(Kernel::Cosine)),
        ("p-inf", Spec { penalty: AnyPenalty::Pairwise(infinite), ..Spec::default().with_usual_lambda() }),
        ("elastic-net", Spec { penalty: AnyPenalty::ElasticNet(net), ..Method::Smlr.spec().with_usual_lambda() }),
    ];
    for (name, spec) in more {
        seeds.extend(with(FITTED, &[(name, serde_json::to_vec(&spec).unwrap())]));
    }
    seeds.extend(with(TEXT, &[("range", b"1e-4:1e-1:10,1:8,0.5".to_vec())]));
    seeds
}
