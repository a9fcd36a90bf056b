//! Plants faults in a copy of the crate, one at a time, and demands that a model fails for each.
//!
//! `planted.toml` lists them. A fault must build: what does not compile proves nothing. Arguments,
//! if any, choose the faults whose name or model contains one of them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct List {
    fault: Vec<Fault>,
}

/// A fault, and the models that must fail with it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    name: String,
    /// Each `file::test`, the file one of `tests`.
    models: Vec<String>,
    /// What goes wrong.
    why: String,
    edit: Vec<Edit>,
}

/// A substitution in the crate's source, where the text must be exactly once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    find: String,
    replace: String,
}

enum Outcome {
    Dies(String),
    Survives,
}

fn main() -> Result<ExitCode> {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list: List = toml::from_str(&read(&here.join("planted.toml"))?)?;
    let crate_dir = here.parent().ok_or("the crate is the directory above")?;
    let source = Source::read(crate_dir)?;
    // Before anything is built: a list that no longer fits the source should fail at once.
    for fault in &list.fault {
        source.with(fault)?;
    }

    let bench = Bench::new(crate_dir)?;
    let mut survivors = 0;
    for fault in list.fault.iter().filter(|fault| fault.is_wanted(&wanted)) {
        bench.write(&source.with(fault)?)?;
        for model in &fault.models {
            let start = Instant::now();
            let outcome = bench
                .run(model)
                .map_err(|error| format!("{}: {error}", fault.name))?;
            let verdict = match outcome {
                Outcome::Dies(message) => format!("dies: {message}"),
                Outcome::Survives => {
                    survivors += 1;
                    format!("SURVIVES, though: {}", fault.why)
                }
            };
            let seconds = start.elapsed().as_secs();
            println!("{} | {model} | {verdict} ({seconds} s)", fault.name);
        }
    }
    println!("{survivors} models survive a fault that they must not");
    Ok(if survivors == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Fault {
    fn is_wanted(&self, wanted: &[String]) -> bool {
        let is_of = |part: &String| self.models.iter().any(|model| model.contains(part));
        wanted.is_empty()
            || wanted
                .iter()
                .any(|part| self.name.contains(part) || is_of(part))
    }
}

/// The files of `src`, by their path from the crate's directory.
#[derive(Clone)]
struct Source(BTreeMap<PathBuf, String>);

impl Source {
    fn read(crate_dir: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        let mut directories = vec![PathBuf::from("src")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(crate_dir.join(&directory))? {
                let path = directory.join(entry?.file_name());
                if crate_dir.join(&path).is_dir() {
                    directories.push(path);
                } else {
                    let text = read(&crate_dir.join(&path))?;
                    files.insert(path, text);
                }
            }
        }
        Ok(Self(files))
    }

    fn with(&self, fault: &Fault) -> Result<Self> {
        let mut source = self.clone();
        for Edit { find, replace } in &fault.edit {
            let times: usize = source
                .0
                .values()
                .map(|text| text.matches(find).count())
                .sum();
            if times != 1 {
                let name = &fault.name;
                return Err(
                    format!("{name}: {times} times in the source, not once:\n{find}").into(),
                );
            }
            for text in source.0.values_mut() {
                *text = text.replace(find, replace);
            }
        }
        Ok(source)
    }
}

/// A copy of the crate, and what it was built into so far.
struct Bench {
    copy: PathBuf,
    target: PathBuf,
}

impl Bench {
    fn new(crate_dir: &Path) -> Result<Self> {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| crate_dir.join("loom-tests/target"), PathBuf::from);
        let planted = std::path::absolute(target)?.join("planted");
        let copy = planted.join("nulls");
        if copy.exists() {
            fs::remove_dir_all(&copy)?;
        }
        // All that the two manifests name.
        for part in ["Cargo.toml", "README.md", "src", "tests", "examples"] {
            copy_all(&crate_dir.join(part), &copy.join(part))?;
        }
        for part in ["Cargo.toml", "Cargo.lock", "src", "tests"] {
            let part = Path::new("loom-tests").join(part);
            copy_all(&crate_dir.join(&part), &copy.join(&part))?;
        }
        let target = planted.join("target");
        Ok(Self { copy, target })
    }

    /// Makes the copy's source this, touching only what differs.
    fn write(&self, source: &Source) -> Result<()> {
        for (file, text) in &source.0 {
            let file = self.copy.join(file);
            if read(&file)? != *text {
                fs::write(file, text)?;
            }
        }
        Ok(())
    }

    fn run(&self, model: &str) -> Result<Outcome> {
        let (file, test) = model.split_once("::").ok_or("a model is `file::test`")?;
        let built = self.cargo_test(file, &["--no-run"])?;
        if !built.status.success() {
            return Err(format!("does not build:\n{}", text(&built.stderr)).into());
        }
        let run = self.cargo_test(file, &["--", "--exact", test])?;
        let printed = text(&run.stdout) + &text(&run.stderr);
        if !printed.contains("running 1 test\n") {
            return Err(format!("there is no model {model}").into());
        }
        Ok(if run.status.success() {
            Outcome::Survives
        } else {
            Outcome::Dies(last_words(&printed))
        })
    }

    fn cargo_test(&self, file: &str, arguments: &[&str]) -> Result<Output> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Command::new(cargo)
            .args(["test", "--release", "--quiet", "--test", file])
            .args(arguments)
            .current_dir(self.copy.join("loom-tests"))
            .env("CARGO_TARGET_DIR", &self.target)
            // A fault may leave something unused.
            .env("RUSTFLAGS", "--cfg nulls_loom -A warnings")
            .env("RUST_BACKTRACE", "0")
            // Many builds, each run until it first fails: worth less optimisation.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .output()?)
    }
}

/// The message of the first panic.
fn last_words(printed: &str) -> String {
    let mut lines = printed
        .lines()
        .skip_while(|line| !line.contains("panicked at"));
    let message = lines.nth(1).unwrap_or("no panic: the process was killed");
    message.chars().take(100).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_all(&from.join(&name), &to.join(&name))?;
        }
    } else {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(from, to)?;
    }
    Ok(())
}
