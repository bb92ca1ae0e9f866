//! The options of the commands about servers.

use super::opt;
use crate::options::Opt;

const GROUP: &str = "Options";
/// The group of options for a server's file system.
const PLACE: &str = "Dedicated file system (up)";
/// The group of options for a server's limits.
const LIMITS: &str = "Limits for up and restart ('none' removes one)";

/// The options of `dyno server`.
pub(crate) const SERVER: &[Opt] = &[
    opt(
        GROUP,
        "name",
        Some("NAME"),
        "up: name of the server [its kind]",
    ),
    opt(
        GROUP,
        "set",
        Some("NAME=VALUE"),
        "up, restart: change a server setting, and verify it when the server answers; may be \
         repeated",
    )
    .repeats(),
    opt(
        GROUP,
        "unset",
        Some("NAME"),
        "restart: remove a setting made with --set; may be repeated",
    )
    .repeats(),
    opt(
        GROUP,
        "basedir",
        Some("DIR"),
        "up: folder that the server is installed in; $DYNO_SERVER_PATH lists more, separated by \
         ':'",
    ),
    opt(
        GROUP,
        "port",
        Some("PORT"),
        "up: port on 127.0.0.1 [a free one]",
    ),
    opt(
        GROUP,
        "start-timeout",
        Some("TIME"),
        "Fail if the server does not answer within this time [2m]",
    ),
    opt(
        GROUP,
        "cold",
        None,
        "restart, restore: drop the host's page cache before the server starts, and keep the \
         server from reloading its cached pages",
    ),
    opt(
        GROUP,
        "trim",
        None,
        "restart, restore: trim the free blocks of the underlying device before the server starts",
    ),
    opt(
        GROUP,
        "settle",
        Some("TIME"),
        "restart, restore: wait at most this long until the server's background work is done; \
         snapshot: before the server stops",
    ),
    opt(
        GROUP,
        "from",
        Some("NAME"),
        "restore: copy the snapshot from this server first",
    ),
    opt(
        GROUP,
        "foreground",
        None,
        "up: stay in the foreground. The server stops with this command, and its data is removed \
         unless the command is killed (-9)",
    ),
    opt(GROUP, "all", None, "down: stop all servers"),
    opt(
        GROUP,
        "keep-data",
        None,
        "down: keep the data; restart starts the server again",
    ),
    opt(
        GROUP,
        "lines",
        Some("N"),
        "logs: print the last N lines [50]",
    ),
    opt(GROUP, "tcp", None, "url: use TCP instead of the socket"),
    opt(
        GROUP,
        "json",
        None,
        "up, restart, list: print JSON instead of text",
    ),
    opt(
        PLACE,
        "fs",
        Some("KIND"),
        "Create this file system in a sparse file and mount it: ext4, xfs, btrfs or zfs; needs \
         root",
    ),
    opt(
        PLACE,
        "fs-size",
        Some("SIZE"),
        "Size of the file system [2G]",
    ),
    opt(
        PLACE,
        "mount",
        Some("OPTIONS"),
        "Mount options, as for mount -o, e.g. noatime",
    ),
    opt(
        LIMITS,
        "cpus",
        Some("N"),
        "CPU time, in processors: 0.5 is half of one",
    ),
    opt(
        LIMITS,
        "memory",
        Some("SIZE"),
        "Memory, including the page cache",
    ),
    opt(
        LIMITS,
        "iops",
        Some("N"),
        "At most N reads and N writes per second on the disk",
    ),
    opt(
        LIMITS,
        "read-iops",
        Some("N"),
        "At most N reads per second on the disk",
    ),
    opt(
        LIMITS,
        "write-iops",
        Some("N"),
        "At most N writes per second on the disk",
    ),
    opt(
        LIMITS,
        "bandwidth",
        Some("SIZE"),
        "At most SIZE read and SIZE written per second on the disk",
    ),
    opt(GROUP, "help", None, "Print this help").short('h'),
];
