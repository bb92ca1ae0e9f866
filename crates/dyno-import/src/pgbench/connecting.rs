//! The time that clients take to connect.

use super::output::Output;

/// If the rate with connecting is below this share of the one without it, clients connect for each
/// transaction.
const SLOW: f64 = 0.95;
/// A server starts a process for each connection, which takes at least this long.
const EACH_MS: f64 = 0.2;
/// Connecting once may take as long as several of the first transactions.
const EACH_CLIENT: u64 = 20;
/// The short options of pgbench that have no value.
const FLAGS: &str = "inqvCNSrld";

/// Whether clients spend much of their time connecting, perhaps for each transaction.
pub(super) fn is_slow(output: &Output) -> bool {
    let rates = output.tps_with_connecting.zip(output.tps);
    let slow = rates.is_some_and(|(with, without)| with < without * SLOW);
    slow || output.reconnecting_ms.is_some()
}

/// From version 14 on, a report of `--connect` has only the rate that includes connecting, and the
/// mean time to connect. Earlier versions print two rates instead, from which both follow.
pub(super) fn as_recent_versions(output: &mut Output) {
    let Some(each_ms) = each_ms(output).filter(|each_ms| reconnects(output, *each_ms)) else {
        return;
    };
    output.reconnecting_ms = Some(each_ms);
    output.tps = output.tps_with_connecting.take();
    let text = "clients connect for each transaction (--connect): the rate includes connecting, as \
                in the reports of versions from 14 on";
    output.said.push((Some(output.line), text.to_owned()));
}

/// The mean time to connect, if each transaction does. pgbench computes the rate without connecting
/// over the time of the run minus the mean time that a client spent connecting.
fn each_ms(output: &Output) -> Option<f64> {
    let (with, without) = output.tps_with_connecting.zip(output.tps)?;
    let clients = f64::from(output.clients?);
    (with > 0.0 && with < without).then(|| clients * 1e3 * (1.0 / with - 1.0 / without))
}

fn reconnects(output: &Output, each_ms: f64) -> bool {
    let words = output.argv.iter().skip(1);
    if words.len() > 0 {
        return words.clone().any(|word| is_connect(word));
    }
    let clients = u64::from(output.clients.unwrap_or(0));
    let many = output.processed >= Some(clients.saturating_mul(EACH_CLIENT));
    is_slow(output) && many && each_ms >= EACH_MS
}

/// Whether a word of a command line is `-C`, also among other short options.
fn is_connect(word: &str) -> bool {
    let flags = word.strip_prefix('-').unwrap_or_default();
    let short = flags.contains('C') && flags.chars().all(|flag| FLAGS.contains(flag));
    word == "--connect" || short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rates_show_that_clients_connect_for_each_transaction() {
        let output = |processed: u64, with: f64, without: f64| Output {
            clients: Some(2),
            processed: Some(processed),
            tps: Some(without),
            tps_with_connecting: Some(with),
            ..Output::default()
        };
        let found = |mut output: Output| {
            as_recent_versions(&mut output);
            (output.tps, output.reconnecting_ms)
        };
        let whole = output(400, 200.0, 400.0);
        assert_eq!(found(whole.clone()), (Some(200.0), Some(5.0)));
        for once in [
            output(400, 396.0, 400.0),
            output(20, 200.0, 400.0),
            output(40_000, 36_000.0, 40_000.0),
        ] {
            let expected = (once.tps, None);
            assert_eq!(found(once), expected);
        }
        for (words, connects) in [
            ("pgbench -c 2 -T 3", false),
            ("pgbench -SC -c 2", true),
            ("pgbench --connect", true),
            ("pgbench -U C", false),
        ] {
            let argv = words.split(' ').map(str::to_owned).collect();
            let own = Output {
                argv,
                ..whole.clone()
            };
            assert_eq!(found(own).1.is_some(), connects, "{words}");
        }
    }
}
