//! Dyno, a dynamometer for databases: puts a load on a database server, measures what the server
//! does, and says how far the figures can be believed.

fn main() {
    dyno_cli::main()
}
