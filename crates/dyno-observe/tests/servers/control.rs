//! The connection for queries outside of the load.

use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::ErrorKind;
use dyno_drivers::Control;

use crate::server::{PATIENCE, PrivateServer, Server, kinds};

#[test]
fn rows_come_as_text_and_errors_leave_the_connection() {
    for kind in kinds() {
        let target = Target::parse(&Server::of(kind).url()).unwrap();
        let connector = dyno_drivers::connector(&target).unwrap();
        let mut control = Control::connect(connector.as_ref(), PATIENCE).unwrap();
        let rows = control.query(
            "SELECT 7, NULL, 'a b' UNION ALL SELECT 8, 'x', ''",
            PATIENCE,
        );
        let rows = rows.unwrap();
        let text = |value: &str| Some(value.to_owned());
        assert_eq!(rows[0], [text("7"), None, text("a b")], "{kind}");
        assert_eq!(rows[1], [text("8"), text("x"), text("")], "{kind}");
        let error = control
            .query("SELECT nonsense FROM nowhere", PATIENCE)
            .unwrap_err();
        assert!(!error.ends_connection, "{kind}: {error}");
        assert!(
            matches!(error.kind, ErrorKind::NoTable | ErrorKind::Statement),
            "{kind}: {error:?}"
        );
        assert!(control.is_open(), "{kind}");
        assert!(control.query("SELECT 1", PATIENCE).is_ok(), "{kind}");
        control.close();
        let error = control.query("SELECT 1", PATIENCE).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Lost, "{kind}");
        control.reconnect(connector.as_ref(), PATIENCE).unwrap();
        assert!(control.query("SELECT 1", PATIENCE).is_ok(), "{kind}");
    }
}

#[test]
fn an_answer_that_does_not_come_ends_the_connection() {
    for kind in kinds() {
        let private = PrivateServer::start(kind, &[]);
        let target = Target::parse(&private.server().url()).unwrap();
        let connector = dyno_drivers::connector(&target).unwrap();
        let mut control = Control::connect(connector.as_ref(), PATIENCE).unwrap();
        private.suspend();
        let error = control
            .query("SELECT 1", Duration::from_millis(300))
            .unwrap_err();
        assert!(
            error.message.contains("did not answer within 0.3 s"),
            "{kind}: {error}"
        );
        assert!(!control.is_open(), "{kind}");
        private.resume();
        // The late answer to the first query is discarded: this is another connection.
        control.reconnect(connector.as_ref(), PATIENCE).unwrap();
        let rows = control.query("SELECT 2", PATIENCE).unwrap();
        assert_eq!(rows[0][0].as_deref(), Some("2"), "{kind}");
    }
}
