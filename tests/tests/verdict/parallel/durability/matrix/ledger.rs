//! The work that a server has acknowledged, as its clients recorded it: inserted rows and updated
//! rows.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dyno_tests::{Client, Server};

const SESSIONS: i64 = 4;
/// The keys of a session start at its number times this.
const KEYS: i64 = 100_000_000;
/// After this many inserts, the row is also updated.
const UPDATE_EVERY: i64 = 4;
/// Longer than the interval at which a server with one sync per second syncs.
const LOAD: Duration = Duration::from_millis(1_500);

/// Connects all sessions of the load, each of which first runs a statement.
pub(super) fn connect(server: &Server, first: &str) -> Vec<Client> {
    let connect = |_| {
        let mut client = server.client(Some("verdict"));
        assert!(first.is_empty() || client.execute(first).is_ok(), "{first}");
        client
    };
    (0..SESSIONS).map(connect).collect()
}

/// The keys of the rows.
#[derive(Default)]
pub(super) struct Acknowledged {
    pub inserted: Vec<i64>,
    pub updated: Vec<i64>,
}

impl Acknowledged {
    /// The number of statements that were acknowledged.
    pub(super) fn count(&self) -> usize {
        self.inserted.len() + self.updated.len()
    }

    /// The number of rows that are missing.
    pub(super) fn lost(&self, server: &Server) -> usize {
        let keys = |sql: &str| -> HashSet<i64> {
            let rows = server.query(Some("verdict"), sql);
            let keys = rows.into_iter().flatten();
            keys.map(|key| key.parse().unwrap()).collect()
        };
        let all = keys("SELECT id FROM ledger WHERE id > 0");
        let updated = keys("SELECT id FROM ledger WHERE id > 0 AND v = 1");
        let missing =
            |of: &[i64], there: &HashSet<i64>| of.iter().filter(|key| !there.contains(key)).count();
        missing(&self.inserted, &all) + missing(&self.updated, &updated)
    }
}

/// Loads the server with all sessions, kills it meanwhile, and returns the acknowledged rows.
pub(super) fn until_killed(clients: Vec<Client>, kill: impl FnOnce()) -> Acknowledged {
    let is_killed = AtomicBool::new(false);
    let is_killed = &is_killed;
    thread::scope(|scope| {
        let sessions: Vec<_> = (1..)
            .zip(clients)
            .map(|(session, client)| scope.spawn(move || load(client, session * KEYS, is_killed)))
            .collect();
        thread::sleep(LOAD);
        kill();
        is_killed.store(true, Ordering::Relaxed);
        let mut all = Acknowledged::default();
        for session in sessions {
            let own = session.join().unwrap();
            all.inserted.extend(own.inserted);
            all.updated.extend(own.updated);
        }
        all
    })
}

fn load(mut client: Client, first: i64, is_killed: &AtomicBool) -> Acknowledged {
    let mut own = Acknowledged::default();
    for key in first.. {
        let insert = format!("INSERT INTO ledger (id, v) VALUES ({key}, 0)");
        if client.execute(&insert).is_err() {
            break;
        }
        own.inserted.push(key);
        if key % UPDATE_EVERY == 0 {
            let update = format!("UPDATE ledger SET v = 1 WHERE id = {key}");
            if client.execute(&update).is_err() {
                break;
            }
            own.updated.push(key);
        }
        // Without this, the load would never end on a server that survives the kill.
        if is_killed.load(Ordering::Relaxed) {
            break;
        }
    }
    own
}
