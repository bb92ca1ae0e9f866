//! Dyno, a dynamometer for databases: loads a database server, measures it, and says whether the
//! figures can be trusted.

fn main() {
    dyno_cli::main()
}
