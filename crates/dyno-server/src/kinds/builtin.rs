//! Dyno's built-in kinds of servers.

use super::{Installation, Product, mysql, postgres};
use crate::contract::{ANSWER, Contract, connect_to, password};
use crate::credentials::{DATABASE, Password};
use crate::error::{Result, failed};
use crate::home::Folder;
use crate::server::Context;
use crate::supervisor::Launch;

impl Installation {
    /// Writes the credentials file of the server's clients.
    pub(crate) fn keep_client_file(&self, folder: &Folder, password: &Password) -> Result<()> {
        let (name, text) = match self.product {
            Product::Postgres => ("pgpass", postgres::client_file(password)),
            Product::Mariadb | Product::Mysql => {
                ("client.cnf", mysql::client_file(folder, password))
            }
        };
        folder.write(name, &text, 0o600).map(drop)
    }
}

impl Contract for Installation {
    fn install(&self, context: &Context<'_>) -> Result<()> {
        let password = password(context)?;
        match self.product {
            Product::Postgres => postgres::initialize(self, context, &password)?,
            Product::Mariadb | Product::Mysql => mysql::initialize(self, context)?,
        }
        self.keep_client_file(context.folder, &password)
    }

    fn launch(&self, context: &Context<'_>) -> Result<Launch> {
        match self.product {
            Product::Postgres => {
                // The pid file of a killed server would be believed if the pid is in use again.
                postgres::forget_pid(context.folder, context.port);
                postgres::launch(self, context)
            }
            Product::Mariadb | Product::Mysql if context.is_first => {
                mysql::launch(self, context, Some(&password(context)?))
            }
            Product::Mariadb | Product::Mysql => mysql::launch(self, context, None),
        }
    }

    fn url(&self, context: &Context<'_>, tcp: bool) -> Result<String> {
        Ok(match self.product {
            Product::Postgres => postgres::url(context.folder, context.port, tcp, None),
            product => mysql::url(product, context.folder, context.port, tcp),
        })
    }

    fn ready(&self, context: &Context<'_>) -> std::result::Result<(), String> {
        let url = match self.product {
            // The database does not exist before `welcome`.
            Product::Postgres => {
                postgres::url(context.folder, context.port, false, Some("postgres"))
            }
            product => mysql::url(product, context.folder, context.port, false),
        };
        connect_to(&url).map(drop)
    }

    fn welcome(&self, context: &Context<'_>) -> Result<()> {
        if self.product != Product::Postgres {
            return mysql::forget_first(context.folder);
        }
        let url = postgres::url(context.folder, context.port, false, Some("postgres"));
        let created = connect_to(&url).and_then(|mut reached| {
            let there = format!("SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'");
            let control = &mut reached.control;
            let created = control
                .query(&there, ANSWER)
                .and_then(|rows| match rows.is_empty() {
                    true => control.query(&format!("CREATE DATABASE {DATABASE}"), ANSWER * 6),
                    // Another server's copy was put here before the first start.
                    false => Ok(rows),
                });
            created.map_err(|error| error.to_string())
        });
        match created {
            Ok(_) => Ok(()),
            Err(why) => failed(format!("cannot create the database {DATABASE}: {why}")),
        }
    }
}
