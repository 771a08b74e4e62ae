//! What the benchmark reads: a line of figures, and the result as CSV.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::hash::Hash;
use std::io::{BufWriter, Write};

/// Figures of one run.
#[derive(Default)]
pub struct Figures {
    pub backfill_s: f64,
    pub backfill_cpu_s: f64,
    pub state_mb: f64,
    /// By batch size: seconds of each batch.
    pub seconds: BTreeMap<i32, Vec<f64>>,
    /// By batch size: CPU seconds of all its batches.
    pub cpu: BTreeMap<i32, f64>,
}

/// CPU seconds of the process so far.
pub fn cpu() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// A line of /proc/self/status in MiB.
pub fn memory(name: &str) -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

/// What the process has allocated and not freed, in MiB.
pub fn live() -> f64 {
    let m = unsafe { libc::mallinfo2() };
    (m.uordblks + m.hblkhd) as f64 / (1 << 20) as f64
}

pub fn print(workload: &str, workers: usize, rounds: i32, rows: usize, f: &Figures) {
    let mut s = format!(
        "{{\"peer\":\"differential\",\"w\":\"{workload}\",\"workers\":{workers},\"rounds\":{rounds},\"backfill_s\":{:.5},\"backfill_cpu_s\":{:.5},\"backfill_rows\":{rows},\"rss_mb\":{:.0},\"state_mb\":{:.1}",
        f.backfill_s, f.backfill_cpu_s, memory("VmHWM"), f.state_mb
    );
    for (size, seconds) in &f.seconds {
        let total: f64 = seconds.iter().sum();
        let changes = *size as f64 * seconds.len() as f64;
        let mut sorted = seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |q: f64| sorted[((sorted.len() as f64 * q) as usize).min(sorted.len() - 1)] * 1e6;
        let cpu = f.cpu[size];
        write!(s, ",\"thr_{size}\":{:.1},\"cpu_thr_{size}\":{:.1},\"p50_{size}\":{:.2},\"p99_{size}\":{:.2}", changes / total, changes / cpu, at(0.5), at(0.99)).unwrap();
    }
    println!("{s}}}");
}

/// Adds up all changes of the result and writes its rows.
pub fn write<T: Eq + Hash>(path: &str, changes: Vec<(T, isize)>, line: impl Fn(&T) -> String) {
    let mut rows: HashMap<T, isize> = HashMap::new();
    for (row, w) in changes {
        *rows.entry(row).or_insert(0) += w;
    }
    fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
    let mut out = BufWriter::new(fs::File::create(path).unwrap());
    for (row, n) in rows {
        assert!(n >= 0, "a row of {path} has a negative weight");
        for _ in 0..n {
            writeln!(out, "{}", line(&row)).unwrap();
        }
    }
}

/// A text field.
pub fn quoted(s: &str) -> String {
    format!("\"{}\"", s.replace('"', "\"\""))
}
