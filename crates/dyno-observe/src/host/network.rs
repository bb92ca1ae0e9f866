//! Network interfaces, and TCP retransmissions.

use std::collections::HashMap;

use crate::sink::{Rate, SampleBuffer};
use crate::text::{lines, number, words};

const DEV: &str = "/proc/net/dev";

/// Dyno's name for a figure, its unit, and its column in `/proc/net/dev`: the half of the header,
/// and the column's name in that half.
const COLUMNS: [(&str, &str, Half, &[u8]); 6] = [
    ("rx_bytes", "bytes/s", Half::Receive, b"bytes"),
    ("rx_packets", "count/s", Half::Receive, b"packets"),
    ("rx_drops", "count/s", Half::Receive, b"drop"),
    ("tx_bytes", "bytes/s", Half::Transmit, b"bytes"),
    ("tx_packets", "count/s", Half::Transmit, b"packets"),
    ("tx_drops", "count/s", Half::Transmit, b"drop"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Half {
    Receive,
    Transmit,
}

pub(crate) struct Network {
    scope: &'static str,
    interfaces: HashMap<Vec<u8>, [Rate; COLUMNS.len()]>,
    retransmits: Rate,
    out_segments: Rate,
    listen_overflows: Rate,
    delayed_acks: Rate,
}

impl Network {
    /// For a host or a network namespace, reported under names that begin with `scope`.
    pub(crate) fn new(scope: &'static str) -> Self {
        let (snmp, netstat) = ("/proc/net/snmp", "/proc/net/netstat");
        let tcp =
            |name: &str, source: &str| Rate::new(&format!("{scope}.tcp.{name}"), "count/s", source);
        Self {
            scope,
            interfaces: HashMap::new(),
            retransmits: tcp("retransmits", snmp),
            out_segments: tcp("out_segments", snmp),
            listen_overflows: tcp("listen_overflows", netstat),
            delayed_acks: tcp("delayed_acks", netstat),
        }
    }

    pub(crate) fn dev(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        let mut lines = lines(text).skip(1);
        let Some(places) = lines.next().and_then(places) else {
            return;
        };
        for line in lines {
            let Some((name, values)) = split_name(line) else {
                continue;
            };
            if !self.interfaces.contains_key(name) {
                let rates = rates(self.scope, name);
                self.interfaces.insert(name.to_vec(), rates);
            }
            let Some(rates) = self.interfaces.get_mut(name) else {
                continue;
            };
            for (rate, place) in rates.iter_mut().zip(places) {
                let value = words(values).nth(place).and_then(number);
                rate.put_some(recorder, value);
            }
        }
    }

    pub(crate) fn snmp(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        let field = |name: &[u8]| headed(text, b"Tcp:", name);
        self.retransmits.put_some(recorder, field(b"RetransSegs"));
        self.out_segments.put_some(recorder, field(b"OutSegs"));
    }

    pub(crate) fn netstat(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        let field = |name: &[u8]| headed(text, b"TcpExt:", name);
        let overflows = field(b"ListenOverflows");
        self.listen_overflows.put_some(recorder, overflows);
        self.delayed_acks.put_some(recorder, field(b"DelayedACKs"));
    }
}

fn rates(scope: &str, interface: &[u8]) -> [Rate; COLUMNS.len()] {
    let interface = String::from_utf8_lossy(interface);
    COLUMNS.map(|(name, unit, ..)| {
        Rate::new(&format!("{scope}.network[{interface}].{name}"), unit, DEV)
    })
}

/// The position of each of our columns among an interface's numbers, by the header's names.
fn places(header: &[u8]) -> Option<[usize; COLUMNS.len()]> {
    let mut halves = header.split(|byte| *byte == b'|').skip(1);
    let receive: Vec<&[u8]> = words(halves.next()?).collect();
    let transmit: Vec<&[u8]> = words(halves.next()?).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, (_, _, half, name)) in places.iter_mut().zip(COLUMNS) {
        let find = |names: &[&[u8]]| names.iter().position(|known| *known == name);
        *place = match half {
            Half::Receive => find(&receive)?,
            Half::Transmit => receive.len() + find(&transmit)?,
        };
    }
    Some(places)
}

/// Splits `eth0: 1 2 3`. The first number may follow the colon without a space.
fn split_name(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let colon = line.iter().rposition(|byte| *byte == b':')?;
    Some((&line[..colon], &line[colon + 1..]))
}

/// The value under a name, in a pair of lines that begin with the same word: names, then values.
fn headed(text: &[u8], first: &[u8], name: &[u8]) -> Option<f64> {
    let mut pair = lines(text).filter(|line| words(line).next() == Some(first));
    let (names, values) = (pair.next()?, pair.next()?);
    let place = words(names).position(|word| word == name)?;
    words(values).nth(place).and_then(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::testing::{recorder, values};

    #[test]
    fn the_recorded_files_are_understood() {
        let (mut recorder, seen) = recorder();
        let mut network = Network::new("host");
        for at in [1_000_000_000, 2_000_000_000] {
            recorder.begin(at);
            network.dev(&mut recorder, include_bytes!("recorded/net-dev-6.18.out"));
            network.snmp(&mut recorder, include_bytes!("recorded/net-snmp-6.18.out"));
            network.netstat(
                &mut recorder,
                include_bytes!("recorded/net-netstat-6.18.out"),
            );
            recorder.finish();
        }
        let values = values(&seen);
        for name in [
            "retransmits",
            "out_segments",
            "listen_overflows",
            "delayed_acks",
        ] {
            assert_eq!(values[&format!("host.tcp.{name}")], [0.0], "{name}");
        }
        assert_eq!(values["host.network[lo].rx_bytes"], [0.0]);
        assert_eq!(values["host.network[eth0].tx_drops"], [0.0]);
    }

    #[test]
    fn finds_columns_by_name_in_any_order() {
        let text = |bytes: u32| {
            format!(
                "Inter-|   Receive     |  Transmit\n face |packets bytes drop|drop bytes \
                 packets\n  \
                 eth0:7 {bytes} 0 5 {} 9\n",
                bytes * 2
            )
        };
        let (mut recorder, seen) = recorder();
        let mut network = Network::new("host");
        for (at, bytes) in [(1_000_000_000, 100), (2_000_000_000, 150)] {
            recorder.begin(at);
            network.dev(&mut recorder, text(bytes).as_bytes());
            recorder.finish();
        }
        let values = values(&seen);
        assert_eq!(values["host.network[eth0].rx_bytes"], [50.0]);
        assert_eq!(values["host.network[eth0].tx_bytes"], [100.0]);
        assert_eq!(headed(b"Tcp: A B\nTcp: 1 2\n", b"Tcp:", b"B"), Some(2.0));
        assert_eq!(headed(b"Tcp: A B\n", b"Tcp:", b"B"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[ |:a-z0-9\n]{0,200}") {
            let (mut recorder, _seen) = recorder();
            let mut network = Network::new("host");
            recorder.begin(1);
            network.dev(&mut recorder, text.as_bytes());
            network.snmp(&mut recorder, text.as_bytes());
            network.netstat(&mut recorder, text.as_bytes());
        }
    }
}
