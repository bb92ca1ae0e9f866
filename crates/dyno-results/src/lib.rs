//! The results file: its schema, writing while a run goes on, reading, migration.
