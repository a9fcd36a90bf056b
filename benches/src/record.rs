//! Statistics, and the rows that go into `record/`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;
use sysinfo::{CpuRefreshKind, RefreshKind, System};

/// First quartile, median and third quartile, interpolated.
pub fn quartiles(samples: &[f64]) -> [f64; 3] {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| {
        let quarters = quarter * (sorted.len() - 1);
        let (low, high) = (sorted[quarters / 4], sorted[quarters.div_ceil(4)]);
        low + (high - low) * (quarters % 4) as f64 / 4.0
    })
}

/// To two decimals: more would be noise in a record.
pub fn rounded(x: f64) -> f64 {
    // Adding zero turns -0.0 into 0.0.
    (x * 100.0).round() / 100.0 + 0.0
}

/// Where, when and from what a row comes.
#[derive(Serialize)]
struct Origin {
    commit: String,
    date: String,
    cpu: String,
    rustc: &'static str,
}

impl Origin {
    fn here() -> Self {
        let specifics = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
        let system = System::new_with_specifics(specifics);
        Self {
            commit: commit(),
            date: jiff::Timestamp::now().strftime("%F").to_string(),
            cpu: system
                .cpus()
                .first()
                .map_or("unknown", |cpu| cpu.brand().trim())
                .to_owned(),
            rustc: env!("BENCH_RUSTC"),
        }
    }
}

/// The commit of this package's tree, marked if files differ from it. Takes no lock of the repository.
fn commit() -> String {
    let describe = [
        "--no-optional-locks",
        "describe",
        "--always",
        "--dirty",
        "--exclude=*",
    ];
    let output = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR")])
        .args(describe)
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".to_owned(),
    }
}

/// The version of a package that this one was built with.
pub fn version(package: &str) -> &'static str {
    let mut lines = include_str!("../Cargo.lock").lines();
    lines.find(|line| line.strip_prefix("name = ") == Some(&format!("\"{package}\"")));
    lines
        .next()
        .and_then(|line| line.strip_prefix("version = "))
        .map_or("unknown", |version| version.trim_matches('"'))
}

/// Writes `rows`, each behind the columns of [`Origin`].
pub fn write_csv(path: &Path, rows: &[impl Serialize]) -> Result<()> {
    let origin = Origin::here();
    let write = || -> Result<()> {
        let mut writer = csv::Writer::from_path(path)?;
        rows.iter()
            .try_for_each(|row| writer.serialize((&origin, row)))?;
        Ok(writer.flush()?)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{quartiles, version};

    #[test]
    #[expect(clippy::float_cmp, reason = "small fractions of two")]
    fn quartiles_interpolate() {
        assert_eq!(quartiles(&[4.0, 1.0, 2.0, 3.0, 5.0]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(&[1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert_eq!(quartiles(&[7.0]), [7.0; 3]);
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        assert_eq!(version("papaya"), "0.2.5");
        assert_eq!(version("no such package"), "unknown");
    }
}
