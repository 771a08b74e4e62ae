//! The input files: fixed records, batches of changes, Nexmark events.
use serde::Deserialize;
use std::fs;
use std::io::{BufRead, BufReader};

/// One change of one row. `tag` says of which table, `w` is +1 or -1.
#[derive(Clone, Copy)]
pub struct Record {
    pub tag: i32,
    pub w: i32,
    pub a: i64,
    pub b: i64,
    pub c: i64,
}

fn word4(b: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(b[at..at + 4].try_into().unwrap())
}

fn word8(b: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(b[at..at + 8].try_into().unwrap())
}

fn records(path: &str) -> Vec<Record> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let one = |r: &[u8]| Record { tag: word4(r, 0), w: word4(r, 4), a: word8(r, 8), b: word8(r, 16), c: word8(r, 24) };
    bytes.chunks_exact(32).map(one).collect()
}

/// What a workload is fed with: first the whole content, then batches with their size in changes.
pub struct Feed {
    pub content: Vec<Record>,
    pub batches: Vec<(i32, Vec<Record>)>,
}

pub fn feed(data: &str, workload: &str, rounds: i32) -> Feed {
    let folder = match workload {
        "w4" => "w1",
        "w2b" | "w3" => "w2",
        other => other,
    };
    let changes = records(&format!("{data}/{folder}/changes.bin"));
    let mut at = 0;
    let mut batches = Vec::new();
    for b in fs::read(format!("{data}/{folder}/batches.bin")).unwrap().chunks_exact(12) {
        if word4(b, 0) > rounds {
            break;
        }
        let n = word4(b, 8) as usize;
        batches.push((word4(b, 4), changes[at..at + n].to_vec()));
        at += n;
    }
    Feed { content: records(&format!("{data}/{folder}/backfill.bin")), batches }
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    pub id: i64,
    pub name: String,
    pub city: String,
    pub state: String,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub struct Auction {
    pub id: i64,
    pub item_name: String,
    pub description: String,
    pub initial_bid: i64,
    pub reserve: i64,
    pub date_time: i64,
    pub expires: i64,
    pub seller: i64,
    pub category: i64,
    pub extra: String,
}

#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub struct Bid {
    pub auction: i64,
    pub bidder: i64,
    pub price: i64,
    pub channel: String,
    pub url: String,
    pub date_time: i64,
    pub extra: String,
}

/// One event: exactly one of the three is there.
#[derive(Deserialize, Clone)]
pub struct Event {
    pub person: Option<Person>,
    pub auction: Option<Auction>,
    pub bid: Option<Bid>,
}

pub fn events(data: &str) -> Vec<Event> {
    let path = format!("{data}/nexmark/events.jsonl");
    let file = fs::File::open(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    BufReader::with_capacity(1 << 20, file).lines().map(|l| serde_json::from_str(&l.unwrap()).unwrap()).collect()
}
