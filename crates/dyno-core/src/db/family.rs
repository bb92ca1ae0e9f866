//! Families of databases: names and basic differences.

/// The family of databases that a connection speaks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// MySQL and MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// SQLite, embedded.
    Sqlite,
}

impl Family {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Mysql, Self::Postgres, Self::Sqlite];

    /// The scheme of its URLs, and its name in plans and scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }

    /// The family of a URL scheme, in lower case.
    pub(crate) fn of_scheme(scheme: &str) -> Option<Self> {
        match scheme {
            "mariadb" => Some(Self::Mysql),
            "postgresql" => Some(Self::Postgres),
            _ => Self::ALL.into_iter().find(|family| family.name() == scheme),
        }
    }

    /// The driver name that sysbench and its scripts use.
    pub fn driver_name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "pgsql",
            Self::Sqlite => "sqlite",
        }
    }

    /// The family with this sysbench driver name.
    pub fn of_driver_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|family| family.driver_name() == name)
    }

    /// The names of its server executables; empty if it is embedded.
    pub fn server_programs(self) -> &'static [&'static str] {
        match self {
            Self::Mysql => &["mysqld", "mariadbd"],
            Self::Postgres => &["postgres", "postmaster"],
            Self::Sqlite => &[],
        }
    }

    /// Whether it runs inside the client, without a server.
    pub fn is_embedded(self) -> bool {
        self.server_programs().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Family;

    #[test]
    fn names_match_plans_and_urls() {
        for family in Family::ALL {
            let stored = serde_json::to_value(family).unwrap();
            assert_eq!(stored, family.name());
            assert_eq!(Family::of_scheme(family.name()), Some(family));
            assert_eq!(Family::of_driver_name(family.driver_name()), Some(family));
        }
        assert_eq!(Family::of_scheme("mariadb"), Some(Family::Mysql));
        assert_eq!(Family::of_scheme("postgresql"), Some(Family::Postgres));
        assert_eq!(Family::of_scheme("oracle"), None);
    }
}
