//! The options of the commands about servers.

use super::{opt, repeated, short};
use crate::options::Opt;

const GROUP: &str = "Options";
/// Where a server's folder is.
const PLACE: &str = "A file system of its own (up)";
/// What a server may use at most.
const LIMITS: &str = "Limits of up and restart ('none' takes one away)";

/// The options of `dyno server`.
pub const SERVER: &[Opt] = &[
    opt(
        GROUP,
        "name",
        Some("NAME"),
        "up: what the server is called [its kind]",
    ),
    repeated(
        GROUP,
        "set",
        Some("NAME=VALUE"),
        "up, restart: a setting of the server's, read back when it answers; may be repeated",
    ),
    repeated(
        GROUP,
        "unset",
        Some("NAME"),
        "restart: a setting that is not to be made any more; may be repeated",
    ),
    opt(
        GROUP,
        "basedir",
        Some("DIR"),
        "up: the folder that the server is installed in; $DYNO_SERVER_PATH has more, separated \
         by ':'",
    ),
    opt(
        GROUP,
        "port",
        Some("PORT"),
        "up: its port on 127.0.0.1 [a free one]",
    ),
    opt(
        GROUP,
        "start-timeout",
        Some("TIME"),
        "how long it may take until it answers [2m]",
    ),
    opt(
        GROUP,
        "cold",
        None,
        "restart, restore: the host's page cache is dropped before the server starts, and the \
         server reads no list of the pages that it had cached",
    ),
    opt(
        GROUP,
        "trim",
        None,
        "restart, restore: the device below is told which blocks are free before the server \
         starts",
    ),
    opt(
        GROUP,
        "settle",
        Some("TIME"),
        "restart, restore: wait until the server has nothing left to do in the background, at \
         most so long; snapshot: before it is stopped",
    ),
    opt(
        GROUP,
        "from",
        Some("NAME"),
        "restore: the server whose snapshot it is; it is copied to this one first",
    ),
    opt(
        GROUP,
        "foreground",
        None,
        "up: wait here; the server ends with this command, however that ends; so do its data, \
         unless it is killed (-9)",
    ),
    opt(GROUP, "all", None, "down: all servers"),
    opt(
        GROUP,
        "keep-data",
        None,
        "down: stop only; restart starts it again",
    ),
    opt(GROUP, "lines", Some("N"), "logs: how many [50]"),
    opt(GROUP, "tcp", None, "url: by TCP rather than by its socket"),
    opt(
        GROUP,
        "json",
        None,
        "up, restart, list: JSON instead of text",
    ),
    opt(
        PLACE,
        "fs",
        Some("KIND"),
        "ext4, xfs, btrfs or zfs, in a sparse file that is mounted; needs root",
    ),
    opt(PLACE, "fs-size", Some("SIZE"), "its size [2G]"),
    opt(
        PLACE,
        "mount",
        Some("OPTIONS"),
        "how it is mounted, as mount -o takes it: noatime",
    ),
    opt(
        LIMITS,
        "cpus",
        Some("N"),
        "processors' time: 0.5 is half of one",
    ),
    opt(
        LIMITS,
        "memory",
        Some("SIZE"),
        "memory, page cache included",
    ),
    opt(
        LIMITS,
        "iops",
        Some("N"),
        "reads and writes of its disk in a second, each",
    ),
    opt(LIMITS, "read-iops", Some("N"), "reads in a second"),
    opt(LIMITS, "write-iops", Some("N"), "writes in a second"),
    opt(
        LIMITS,
        "bandwidth",
        Some("SIZE"),
        "bytes read from and written to its disk in a second, each",
    ),
    short('h', opt(GROUP, "help", None, "this text")),
];
