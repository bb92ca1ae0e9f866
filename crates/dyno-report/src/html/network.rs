//! The observed network.

use dyno_core::catalogue::{Family, names};

use super::markup::slug;
use super::observed::{PLAIN, Plot, devices, pair, plot};
use super::page::Page;
use super::run::View;

/// Writes the section on the network.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "network", "Network");
    let interfaces = devices(view, names::HOST_NETWORK);
    if interfaces.is_empty() {
        page.nothing(&match view.observes(names::HOST_NETWORK) {
            true => "No interface had any traffic.".to_owned(),
            false => view.why_not(names::HOST_NETWORK),
        });
    }
    for interface in interfaces {
        let slug = slug(&interface);
        let name = |series: Family| series.of(&interface);
        let rx = name(names::HOST_NETWORK_RX_BYTES);
        let tx = name(names::HOST_NETWORK_TX_BYTES);
        let rx_packets = name(names::HOST_NETWORK_RX_PACKETS);
        let tx_packets = name(names::HOST_NETWORK_TX_PACKETS);
        pair(
            page,
            view,
            &Plot {
                id: &format!("net-{slug}-bytes"),
                title: &format!("{interface}: bytes"),
                about: "Bytes received and sent.",
                axis: "bytes",
                lines: &[(&rx, "received", 0), (&tx, "sent", 1)],
                size: "short",
                ..PLAIN
            },
            &Plot {
                id: &format!("net-{slug}-packets"),
                title: &format!("{interface}: packets"),
                about: "Packets received and sent.",
                axis: "packets",
                lines: &[(&rx_packets, "received", 0), (&tx_packets, "sent", 1)],
                size: "short",
                ..PLAIN
            },
        );
    }
    let tcp = Plot {
        id: "tcp",
        title: "TCP retransmissions",
        about: "Retransmitted segments, and connections refused because of a full accept queue, on \
                the whole host.",
        axis: "segments",
        lines: &[
            (names::HOST_TCP_RETRANSMITS, "retransmitted", 1),
            (names::HOST_TCP_LISTEN_OVERFLOWS, "listen overflows", 5),
        ],
        size: "short",
        ..PLAIN
    };
    plot(page, view, &tcp);
    page.end_section();
}
