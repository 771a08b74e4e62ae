//! Nexmark queries. Streams and fields that a query does not read are left away before the clock starts.
use crate::Run;
use crate::drive::{Step, drive};
use crate::input::{self, Auction, Bid, Event};
use crate::report::{self, quoted};
use differential_dataflow::operators::CountTotal;

const BATCH: usize = 10_000;

fn steps<A, B>(events: Vec<Event>, left: impl Fn(&Event) -> Option<A>, right: impl Fn(&Event) -> Option<B>) -> Vec<Step<A, B>> {
    let step = |e: &[Event]| Step { size: BATCH as i32, left: e.iter().filter_map(&left).map(|r| (r, 1)).collect(), right: e.iter().filter_map(&right).map(|r| (r, 1)).collect() };
    events.chunks(BATCH).map(step).collect()
}

/// An auction's fields behind its id.
type Lot = ((String, String, i64, i64), (i64, i64, i64, i64, String));

fn lot(a: &Auction) -> (i64, Lot) {
    (a.id, ((a.item_name.clone(), a.description.clone(), a.initial_bid, a.reserve), (a.date_time, a.expires, a.seller, a.category, a.extra.clone())))
}

fn lot_text(((item, text, initial, reserve), (at, expires, seller, category, extra)): &Lot) -> String {
    format!("{},{},{initial},{reserve},{at},{expires},{seller},{category},{}", quoted(item), quoted(text), quoted(extra))
}

/// A bid's fields behind its auction.
type Offer = (i64, i64, String, String, i64, String);

fn offer(b: &Bid) -> (i64, Offer) {
    (b.auction, (b.bidder, b.price, b.channel.clone(), b.url.clone(), b.date_time, b.extra.clone()))
}

fn offer_text((bidder, price, channel, url, at, extra): &Offer) -> String {
    format!("{bidder},{price},{},{},{at},{}", quoted(channel), quoted(url), quoted(extra))
}

pub fn run(run: &Run) {
    let events = input::events(&run.data);
    let rows = events.len();
    macro_rules! measure {
        ($left:expr, $right:expr, $logic:expr, $line:expr) => {{
            let (figures, changes) = drive(run.workers, steps(events, $left, $right), $logic);
            report::print(&run.workload, run.workers, run.rounds, rows, &figures);
            report::write(&run.result, changes, $line);
        }};
    }
    let nothing = |_: &Event| -> Option<i64> { None };
    match run.workload.as_str() {
        "q3" => measure!(
            |e| e.auction.as_ref().map(|a| (a.seller, (a.id, a.category))),
            |e| e.person.as_ref().map(|p| (p.id, (p.name.clone(), p.city.clone(), p.state.clone()))),
            |a, p| {
                let wanted = a.flat_map(|(seller, (id, category))| (category == 10).then_some((seller, id)));
                let local = p.filter(|(_, (_, _, state))| ["OR", "ID", "CA"].contains(&state.as_str()));
                wanted.join_map(local, |_, id, (name, city, state)| (name.clone(), city.clone(), state.clone(), *id))
            },
            |(name, city, state, id)| format!("{},{},{},{id}", quoted(name), quoted(city), quoted(state))
        ),
        "q4" => measure!(
            |e| e.auction.as_ref().map(|a| (a.id, (a.category, a.date_time, a.expires))),
            |e| e.bid.as_ref().map(|b| (b.auction, (b.price, b.date_time))),
            |a, b| {
                let timely_bids = a.join_map(b, |id, (category, from, until), (price, at)| ((*id, *category), (from <= at && at <= until).then_some(*price)));
                timely_bids
                    .flat_map(|(key, price)| price.map(|p| (key, p)))
                    .reduce(|_, prices, out| out.push((*prices[prices.len() - 1].0, 1)))
                    .explode(|((_, category), price)| Some((category, (price as isize, 1isize))))
                    .count_total()
                    .map(|(category, (sum, n))| (category, sum / n))
            },
            |(category, price)| format!("{category},{price}")
        ),
        "q5" => measure!(
            |e| e.bid.as_ref().map(|b| (b.auction, b.date_time)),
            nothing,
            |b, _| {
                let counts = b.flat_map(|(auction, at)| (0..5).map(move |i| ((at / 2000 - i) * 2000, auction))).count_total();
                counts.map(|((start, auction), n)| (start, (n, auction))).reduce(|_, counts, out| {
                    let most = counts[counts.len() - 1].0.0;
                    out.extend(counts.iter().rev().take_while(|c| c.0.0 == most).map(|c| (*c.0, 1)));
                })
            },
            |(start, (n, auction))| format!("{auction},{n},{start}")
        ),
        "q7" => measure!(
            |e| e.bid.as_ref().map(|b| ((b.date_time / 10_000, b.price), (b.auction, b.bidder, b.date_time, b.extra.clone()))),
            nothing,
            |b, _| {
                let highest = b.clone().map(|(key, _)| key).reduce(|_, prices, out| out.push((*prices[prices.len() - 1].0, 1)));
                b.semijoin(highest)
            },
            |((_, price), (auction, bidder, at, extra))| format!("{auction},{price},{bidder},{at},{}", quoted(extra))
        ),
        "q9" => measure!(
            |e| e.auction.as_ref().map(lot),
            |e| e.bid.as_ref().map(|b| (b.auction, (-b.price, b.date_time, b.bidder, b.extra.clone()))),
            |a, b| {
                // the winner is found on narrow rows; the wide auction is joined to it alone
                let open = a.clone().map(|(id, (_, (from, until, ..)))| (id, (from, until)));
                let winners = open
                    .join_map(b, |id, (from, until), bid| (*id, (*from <= bid.1 && bid.1 <= *until).then(|| bid.clone())))
                    .flat_map(|(id, bid)| bid.map(|b| (id, b)))
                    .reduce(|_, bids, out| out.push((bids[0].0.clone(), 1)));
                a.join_map(winners, |id, lot, bid| (*id, lot.clone(), bid.clone()))
            },
            |(id, lot, (price, at, bidder, extra))| format!("{id},{},{id},{bidder},{},{at},{}", lot_text(lot), -price, quoted(extra))
        ),
        "q18" => measure!(
            |e| e.bid.as_ref().map(|b| ((b.bidder, b.auction), (b.date_time, b.price, b.channel.clone(), b.url.clone(), b.extra.clone()))),
            nothing,
            |b, _| b.reduce(|_, bids, out| out.push((bids[bids.len() - 1].0.clone(), 1))),
            |((bidder, auction), (at, price, channel, url, extra))| format!("{auction},{bidder},{price},{},{},{at},{}", quoted(channel), quoted(url), quoted(extra))
        ),
        "q20" => measure!(
            |e| e.auction.as_ref().map(lot),
            |e| e.bid.as_ref().map(offer),
            |a, b| a.filter(|(_, (_, tail))| tail.3 == 10).join_map(b, |id, lot, bid| (*id, bid.clone(), lot.clone())),
            |(id, bid, lot)| format!("{id},{},{}", offer_text(bid), lot_text(lot))
        ),
        other => panic!("no query {other}"),
    }
}
