//! Observers: the host, the server's process, Dyno's own and the database's counters, once a second.
