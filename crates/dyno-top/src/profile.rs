//! Profiles: the questions to a source, and how the answers are displayed; screens as data.

/// The kind of a figure or a column, which sets its format and alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, left-aligned.
    Text,
    /// A count.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share of one, shown in percent.
    Share,
}

/// How a figure is derived from the values of two snapshots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Take {
    /// The current value.
    Now,
    /// The current value; 0 means no limit.
    Limit,
    /// A number of sessions, minus Dyno's own.
    Others,
    /// A counter: its difference per second.
    Rate,
    /// The rate of a counter that its source refreshes only every few seconds, or when one of the
    /// sessions counted in this column ends: see [`crate::slow`].
    SlowRate(&'static str),
    /// The difference of one counter over that of another: a mean over the interval.
    Per(&'static str),
    /// 1 minus that: the complementary share.
    Less(&'static str),
}

/// How a value is found and displayed. `from` names columns or variables: `a|b` is the first
/// existing one, `a+b` the sum of the existing ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The heading.
    pub title: &'static str,
    /// The source values.
    pub from: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its derivation.
    pub take: Take,
    /// The factor from the server's unit to seconds or bytes.
    pub scale: f64,
    /// Text of a statement, whose literals must be masked.
    pub masked: bool,
    /// Left out while it is empty.
    pub sparse: bool,
}

impl Figure {
    /// A current value.
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

    /// This figure, left out while it is empty.
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

    /// A count.
    pub const fn count(title: &'static str, from: &'static str) -> Self {
        Self::new(title, from, Kind::Count)
    }

    /// A limit, where 0 means none.
    pub const fn limit(title: &'static str, from: &'static str) -> Self {
        Self {
            take: Take::Limit,
            ..Self::count(title, from)
        }
    }

    /// A number of sessions, including one of Dyno's.
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

    /// A time; `scale` is its unit in seconds.
    pub const fn time(title: &'static str, from: &'static str, scale: f64) -> Self {
        Self {
            scale,
            ..Self::new(title, from, Kind::Seconds)
        }
    }

    /// A counter, per second.
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

    /// A counter of time, per second: the mean number of busy sessions. `scale` is its unit in
    /// seconds.
    pub const fn load(title: &'static str, from: &'static str, scale: f64) -> Self {
        Self {
            take: Take::Rate,
            ..Self::time(title, from, scale)
        }
    }

    /// A counter of time divided by another counter: the mean over the interval.
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

    /// The share of `of` without the misses, over the interval.
    pub const fn hits(title: &'static str, misses: &'static str, of: &'static str) -> Self {
        Self {
            take: Take::Less(of),
            ..Self::new(title, misses, Kind::Share)
        }
    }
}

/// One way to ask a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// In the source's language. `{schema}` is replaced by the profile's schema.
    pub text: &'static str,
    /// The required ability, from [`Profile::abilities`]; empty for none.
    pub needs: &'static str,
    /// Advice if it is refused; empty if the next way is equally good, so that no message is
    /// needed.
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

    /// A question that requires an ability.
    pub const fn needing(needs: &'static str, text: &'static str) -> Self {
        Self {
            text,
            needs,
            advice: "",
        }
    }

    /// A question that may be refused, with advice.
    pub const fn or_advise(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }
}

/// A table of a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: &'static str,
    /// The ways to ask, the best first; if one is missing or refused, the next is tried.
    pub asks: &'static [Ask],
    /// The displayed columns.
    pub columns: &'static [Figure],
    /// The answer's columns that identify rows, for differences; with `|` as in figures.
    pub key: &'static [&'static str],
    /// The initial sort column.
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
    /// Whether it shows latencies over time.
    pub heat: bool,
    /// Its tables.
    pub tables: &'static [Table],
}

/// The layout of names and values in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A name and a value in each row.
    Rows,
    /// A column for each; its rows are summed.
    Columns,
}

/// The source of figures' values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The question.
    pub ask: Ask,
    /// The layout.
    pub form: Form,
}

impl Values {
    /// A name and a value in each row.
    pub const fn rows(ask: Ask) -> Self {
        let form = Form::Rows;
        Self { ask, form }
    }

    /// A column for each name.
    pub const fn columns(ask: Ask) -> Self {
        let form = Form::Columns;
        Self { ask, form }
    }
}

/// The source of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Latencies {
    /// Not available, with the reason.
    Absent(&'static str),
    /// A counter per row: the bucket's upper bound in units of `scale` seconds, and its count.
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
    /// Rows `at`, `bound` (seconds) and `count` of the intervals that ended since the last answer.
    Intervals(Ask),
}

impl Latencies {
    /// Whether the bounds are mostly powers of ten: ProxySQL's half decades are not thirds.
    pub fn are_coarse(&self) -> bool {
        match self {
            Self::Buckets { coarse, .. } => *coarse,
            Self::Columns { .. } => true,
            Self::Absent(_) | Self::Intervals(_) => false,
        }
    }
}

/// A text that a screen shows while a figure is above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remark {
    /// The screen's title.
    pub screen: &'static str,
    /// The figure.
    pub figure: Figure,
    /// The text, with `{}` for the figure.
    pub words: &'static str,
}

/// The questions for an open source, and their display.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The source's name and location, for the head of each screen. No secrets.
    pub title: String,
    /// Its screens.
    pub screens: &'static [Screen],
    /// The sources of figures.
    pub values: &'static [Values],
    /// The source of latencies.
    pub latencies: Latencies,
    /// The figures of a line without a terminal: see [`Figure`].
    pub line: &'static [Figure],
    /// Its abilities: available, or the reason against it with advice.
    pub abilities: Vec<(&'static str, Result<(), String>)>,
    /// The replacement for `{schema}` in questions.
    pub schema: String,
    /// Texts shown depending on figures.
    pub remarks: &'static [Remark],
    /// Missing privileges and the like, for the user.
    pub notes: Vec<String>,
}

impl Profile {
    /// Whether the source has the ability, else why not.
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

    /// All possible questions, without duplicates, as written here.
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
