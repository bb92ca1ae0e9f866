//! Names of runs and agents, and the subjects of their messages.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum length of a run's or agent's name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Why a name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not a name on the bus: use 1 to {NAME_BYTES_MAX} letters, digits, '-' and '_'; a \
     dot would split a subject"
)]
pub struct NameError {
    /// The text, cut to the maximum length of a name.
    text: String,
}

/// Checks an untrusted text to be one token of a subject.
fn checked(text: String) -> Result<String, NameError> {
    let fits = (1..=NAME_BYTES_MAX).contains(&text.len());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match fits && text.bytes().all(plain) {
        true => Ok(text),
        false => Err(NameError {
            text: text.chars().take(NAME_BYTES_MAX).collect(),
        }),
    }
}

macro_rules! name {
    ($(#[$about:meta])* $Name:ident) => {
        $(#[$about])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $Name(String);

        impl $Name {
            /// Creates a name from a text.
            ///
            /// # Errors
            /// It is empty, too long, or contains a character not allowed in a subject.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                checked(text.into()).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $Name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl From<$Name> for String {
            fn from(name: $Name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The name of a run on the bus, one token of a subject.
    RunId
}

name! {
    /// The name of a load generator in a run, one token of a subject.
    AgentName
}

/// The kind of messages on a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Agent to coordinator: its introduction.
    Hello,
    /// Agent to coordinator, every second: its stage, as a heartbeat.
    Pulse,
    /// Agent to coordinator: answers to probes of its clock.
    Echo,
    /// Agent to coordinator, stored by the bus: its intervals.
    Intervals,
    /// Agent to coordinator, stored by the bus: its totals.
    End,
    /// Coordinator to agent: orders.
    Control,
    /// Coordinator to agent: probes of its clock.
    Clock,
}

impl Channel {
    /// All channels.
    pub const ALL: [Self; 7] = [
        Self::Hello,
        Self::Pulse,
        Self::Echo,
        Self::Intervals,
        Self::End,
        Self::Control,
        Self::Clock,
    ];

    /// Its token in a subject.
    pub fn token(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Pulse => "hb",
            Self::Echo => "echo",
            Self::Intervals => "iv",
            Self::End => "end",
            Self::Control => "ctl",
            Self::Clock => "clk",
        }
    }

    /// Whether agents write and the coordinator reads.
    pub fn is_upward(self) -> bool {
        !matches!(self, Self::Control | Self::Clock)
    }

    /// Whether the bus stores its messages until they are read.
    pub fn is_stored(self) -> bool {
        matches!(self, Self::Intervals | Self::End)
    }
}

/// The subject of a message on the bus: `dyno.<run>.<channel>.<agent>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The run.
    pub run: RunId,
    /// The channel.
    pub channel: Channel,
    /// The agent that writes or receives it.
    pub agent: AgentName,
}

impl Subject {
    /// Parses `dyno.<run>.<channel>.<agent>`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut tokens = text.split('.');
        let mut next = || tokens.next();
        let (dyno, run, channel, agent) = (next()?, next()?, next()?, next()?);
        if dyno != "dyno" || next().is_some() {
            return None;
        }
        Some(Self {
            run: RunId::new(run).ok()?,
            channel: Channel::ALL.into_iter().find(|c| c.token() == channel)?,
            agent: AgentName::new(agent).ok()?,
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, agent) = (&self.run, &self.agent);
        write!(f, "dyno.{run}.{}.{agent}", self.channel.token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token() {
        for name in ["gen1", "a", "A-b_9", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(AgentName::new(name).unwrap().as_str(), name);
        }
        for text in [
            "",
            "a.b",
            "*",
            ">",
            "ü",
            "a b",
            &"x".repeat(NAME_BYTES_MAX + 1),
        ] {
            assert!(AgentName::new(text).is_err(), "{text}");
            let json = serde_json::to_string(text).unwrap();
            assert!(serde_json::from_str::<RunId>(&json).is_err(), "{text}");
        }
    }

    #[test]
    fn a_subject_reads_back() {
        for channel in Channel::ALL {
            let subject = Subject {
                run: RunId::new("r1").unwrap(),
                channel,
                agent: AgentName::new("gen1").unwrap(),
            };
            assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
        }
        for text in [
            "dyno.r1.hb",
            "dyno.r1.hb.a.b",
            "x.r1.hb.a",
            "dyno.r1.no.a",
            "dyno..hb.a",
        ] {
            assert_eq!(Subject::parse(text), None, "{text}");
        }
    }
}
