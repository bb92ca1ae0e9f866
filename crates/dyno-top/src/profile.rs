//! What there is to ask of a source, and how the answers are shown: screens as data.

/// What a figure or the fields of a column are, which decides how they are written and aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, on the left.
    Text,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share of one, shown in percent.
    Share,
}

/// What is made of the values of two snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Take {
    /// The value as it is.
    Now,
    /// The value as it is; 0 stands for no limit.
    Limit,
    /// A number of sessions without Dyno's own.
    Others,
    /// A counter: its difference per second.
    Rate,
    /// The same for a counter that its source refreshes every few seconds, or when one of the
    /// sessions counted in this column ends: see [`crate::slow`].
    SlowRate(&'static str),
    /// The difference of one counter for each of another: a mean over the interval.
    Per(&'static str),
    /// One less that: the share that was not so.
    Less(&'static str),
}

/// How one value is found and shown. `from` names columns or variables: `a|b` is the first of them
/// that is there, `a+b` the sum of those that are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The heading.
    pub title: &'static str,
    /// Which values.
    pub from: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What is made of it.
    pub take: Take,
    /// By what the server's unit is multiplied, so that it becomes seconds or bytes.
    pub scale: f64,
    /// Text of a statement, whose literals are nobody's business.
    pub masked: bool,
    /// Left out while there is nothing to tell.
    pub sparse: bool,
}

impl Figure {
    /// A value as it is.
    pub const fn new(title: &'static str, from: &'static str, kind: Kind) -> Self {
        Self {
            title,
            from,
            kind,
            take: Take::Now,
            scale: 1.0,
            masked: false,
            sparse: false,
        }
    }

    /// The same, left out while there is nothing to tell.
    pub const fn if_any(self) -> Self {
        Self {
            sparse: true,
            ..self
        }
    }

    /// Text.
    pub const fn text(title: &'static str, from: &'static str) -> Self {
        Self::new(title, from, Kind::Text)
    }

    /// The text of a statement.
    pub const fn statement(title: &'static str, from: &'static str) -> Self {
        Self {
            masked: true,
            ..Self::text(title, from)
        }
    }

    /// A number of things.
    pub const fn count(title: &'static str, from: &'static str) -> Self {
        Self::new(title, from, Kind::Count)
    }

    /// A number of things at most, where 0 stands for no limit.
    pub const fn limit(title: &'static str, from: &'static str) -> Self {
        Self {
            take: Take::Limit,
            ..Self::count(title, from)
        }
    }

    /// A number of sessions, of which one is Dyno's own.
    pub const fn others(title: &'static str, from: &'static str) -> Self {
        Self {
            take: Take::Others,
            ..Self::count(title, from)
        }
    }

    /// Bytes.
    pub const fn bytes(title: &'static str, from: &'static str) -> Self {
        Self::new(title, from, Kind::Bytes)
    }

    /// A time in a unit of so many seconds.
    pub const fn time(title: &'static str, from: &'static str, scale: f64) -> Self {
        Self {
            scale,
            ..Self::new(title, from, Kind::Seconds)
        }
    }

    /// A counter of things, per second.
    pub const fn rate(title: &'static str, from: &'static str) -> Self {
        Self {
            take: Take::Rate,
            ..Self::count(title, from)
        }
    }

    /// A counter of bytes, per second.
    pub const fn byte_rate(title: &'static str, from: &'static str) -> Self {
        Self {
            take: Take::Rate,
            ..Self::bytes(title, from)
        }
    }

    /// The same for a counter that is refreshed only every few seconds, or when one of the `open`
    /// sessions ends.
    pub const fn slow_byte_rate(
        title: &'static str,
        from: &'static str,
        open: &'static str,
    ) -> Self {
        Self {
            take: Take::SlowRate(open),
            ..Self::bytes(title, from)
        }
    }

    /// A counter of time in a unit of so many seconds, per second: how many sessions were at it
    /// on average.
    pub const fn load(title: &'static str, from: &'static str, scale: f64) -> Self {
        Self {
            take: Take::Rate,
            ..Self::time(title, from, scale)
        }
    }

    /// A counter of time for each of what another counts: the mean over the interval.
    pub const fn mean(
        title: &'static str,
        from: &'static str,
        of: &'static str,
        scale: f64,
    ) -> Self {
        Self {
            take: Take::Per(of),
            ..Self::time(title, from, scale)
        }
    }

    /// The share of `of` that was not a miss, over the interval.
    pub const fn hits(title: &'static str, misses: &'static str, of: &'static str) -> Self {
        Self {
            take: Take::Less(of),
            ..Self::new(title, misses, Kind::Share)
        }
    }
}

/// One way to put a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// In the source's language. `{schema}` stands for the schema that the profile names.
    pub text: &'static str,
    /// What the source must have, by the name of one of [`Profile::abilities`]; empty for nothing.
    pub needs: &'static str,
    /// What to do where it is refused; empty where the next way is as good, so that nothing needs
    /// to be said.
    pub advice: &'static str,
}

impl Ask {
    /// A question that any server of the kind answers.
    pub const fn plain(text: &'static str) -> Self {
        Self {
            text,
            needs: "",
            advice: "",
        }
    }

    /// One that takes an ability.
    pub const fn needing(needs: &'static str, text: &'static str) -> Self {
        Self {
            text,
            needs,
            advice: "",
        }
    }

    /// One that may be refused, and what helps then.
    pub const fn or_advise(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }
}

/// A table of a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// What it is of.
    pub title: &'static str,
    /// The ways to ask, the best first; the next one is tried where one is not there or refused.
    pub asks: &'static [Ask],
    /// What is shown of each row.
    pub columns: &'static [Figure],
    /// The columns of the answer that tell its rows apart, for differences; with `|` as in figures.
    pub key: &'static [&'static str],
    /// The column by which it is sorted at first.
    pub sort: usize,
    /// Why there may be no rows.
    pub empty: &'static str,
}

/// A screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screen {
    /// Its name, on its tab.
    pub title: &'static str,
    /// Figures above its tables.
    pub figures: &'static [Figure],
    /// Whether latencies over time are shown.
    pub heat: bool,
    /// Its tables.
    pub tables: &'static [Table],
}

/// How names and values lie in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A name and a value in each row.
    Rows,
    /// A column for each, whose rows are added up.
    Columns,
}

/// Where values of figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The question.
    pub ask: Ask,
    /// How they lie.
    pub form: Form,
}

/// Where latencies come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latencies {
    /// Nothing counts them, and why.
    Absent(&'static str),
    /// A counter for each row: the bucket's upper bound in a unit of so many seconds, and how many
    /// it has counted.
    Buckets {
        /// The question.
        ask: Ask,
        /// The bound's column.
        bound: &'static str,
        /// The counter's column.
        count: &'static str,
        /// The bound's unit in seconds.
        scale: f64,
        /// Whether a bucket is a whole decade.
        coarse: bool,
    },
    /// A counter in each of these columns, with the bucket's upper bound in seconds.
    Columns {
        /// The question.
        ask: Ask,
        /// Columns and bounds.
        of: &'static [(&'static str, f64)],
    },
    /// Rows `at`, `bound` (seconds) and `count` of intervals that have ended since the last
    /// answer.
    Intervals(Ask),
}

impl Latencies {
    /// Whether there are bounds at powers of ten, and hardly any between them: ProxySQL's halves
    /// of a decade are no thirds.
    pub fn are_coarse(&self) -> bool {
        match self {
            Self::Buckets { coarse, .. } => *coarse,
            Self::Columns { .. } => true,
            Self::Absent(_) | Self::Intervals(_) => false,
        }
    }
}

/// What is said on a screen while a figure is more than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remark {
    /// The screen's title.
    pub screen: &'static str,
    /// The figure.
    pub figure: Figure,
    /// The words, with `{}` for it.
    pub words: &'static str,
}

/// What there is to ask of a source that is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it is and where, for the head of each screen. No secrets.
    pub title: String,
    /// Its screens.
    pub screens: &'static [Screen],
    /// Where figures come from.
    pub values: &'static [Values],
    /// Where latencies come from.
    pub latencies: Latencies,
    /// Of what a line is made where there is no terminal: see [`Figure`].
    pub line: &'static [Figure],
    /// What it can do, or why not and what to do.
    pub abilities: Vec<(&'static str, Result<(), String>)>,
    /// What stands for `{schema}` in questions.
    pub schema: String,
    /// What is said while figures give reason to.
    pub remarks: &'static [Remark],
    /// Privileges and the like that are missing, for the user.
    pub notes: Vec<String>,
}

impl Profile {
    /// Whether the source can do it, else why not.
    pub fn can(&self, ability: &str) -> Result<(), &str> {
        if ability.is_empty() {
            return Ok(());
        }
        let known = self.abilities.iter().find(|(name, _)| *name == ability);
        match known {
            Some((_, Ok(()))) => Ok(()),
            Some((_, Err(why))) => Err(why),
            None => Err("the server does not provide it"),
        }
    }

    /// All questions that may be asked, each once, as they are written here.
    pub fn questions(&self) -> Vec<&'static str> {
        let values = self.values.iter().map(|values| values.ask);
        let latencies = match self.latencies {
            Latencies::Absent(_) => None,
            Latencies::Buckets { ask, .. }
            | Latencies::Columns { ask, .. }
            | Latencies::Intervals(ask) => Some(ask),
        };
        let tables = self.screens.iter().flat_map(|screen| screen.tables);
        let tables = tables.flat_map(|table| table.asks.iter().copied());
        let mut questions: Vec<&'static str> = Vec::new();
        for ask in values.chain(latencies).chain(tables) {
            if self.can(ask.needs).is_ok() && !questions.contains(&ask.text) {
                questions.push(ask.text);
            }
        }
        questions
    }
}
