//! A row of the option table.

use dyno_host::Test;

/// One of Dyno's own options: its syntax, its help and where it applies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opt {
    /// Without dashes. `-` and `_` are equivalent on the command line.
    pub name: &'static str,
    /// The one-letter form.
    pub short: Option<char>,
    /// Other names, not shown in help.
    pub aliases: &'static [&'static str],
    /// The value's name in help; `None` for a switch.
    pub value: Option<&'static str>,
    /// The value is optional; only `--name=VALUE` sets it.
    pub bare: bool,
    /// Like `bare`, but takes the next word as its value if no word precedes it.
    pub leads: bool,
    /// It may be repeated.
    pub repeats: bool,
    /// The permitted words, for completion; empty if any value is valid.
    pub choices: &'static [&'static str],
    /// At most two short sentences, the last one without a full stop.
    pub help: &'static str,
    /// Heading in help.
    pub group: &'static str,
    /// The commands on workloads that use it.
    pub scope: Scope,
    /// The tests of the host that use the option.
    pub host: HostTests,
    /// Why searches reject it.
    pub not_of_searches: Option<&'static str>,
    /// Why runs with agents reject it.
    pub not_with_agents: Option<&'static str>,
    /// The short help shows it.
    pub is_common: bool,
}

/// The commands on workloads that use an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All commands.
    All,
    /// All commands except `saturate`, whose steps set the load.
    SingleLoads,
    /// Commands that apply a load: `run`, `saturate`, `calibrate` and `search`.
    Loads,
    /// Commands that record runs: `run`, `saturate` and `search`.
    Results,
    /// All but `calibrate`, which prints a few lines.
    Shown,
    /// `saturate` only.
    Ladders,
}

/// The tests of the host that use an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTests {
    /// All.
    All,
    /// Tests that choose positions at random.
    Draws,
    /// None: it is about databases, scripts, or threads that sessions share.
    None,
}

impl Opt {
    /// An option with a value, or a switch.
    pub(crate) const fn new(
        group: &'static str,
        name: &'static str,
        value: Option<&'static str>,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            short: None,
            aliases: &[],
            value,
            bare: false,
            leads: false,
            repeats: false,
            choices: &[],
            help,
            group,
            scope: Scope::All,
            host: HostTests::All,
            not_of_searches: None,
            not_with_agents: None,
            is_common: false,
        }
    }

    /// With a one-letter form.
    pub(crate) const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }

    /// With other names.
    pub(crate) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// It may be repeated.
    pub(crate) const fn repeats(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// It takes one of these words.
    pub(crate) const fn one_of(mut self, choices: &'static [&'static str]) -> Self {
        self.choices = choices;
        self
    }

    /// Its value is optional.
    pub(crate) const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Its value is optional, and may be the next word if no word precedes it.
    pub(crate) const fn leads(mut self) -> Self {
        self.leads = true;
        self.bare()
    }

    /// The commands that use it.
    pub(crate) const fn of(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Tests of the host do not use it.
    pub(crate) const fn of_databases(mut self) -> Self {
        self.host = HostTests::None;
        self
    }

    /// Only tests of the host that choose positions at random use it.
    pub(crate) const fn of_draws(mut self) -> Self {
        self.host = HostTests::Draws;
        self
    }

    /// Searches reject it for this reason.
    pub(crate) const fn not_of_searches(mut self, why: &'static str) -> Self {
        self.not_of_searches = Some(why);
        self
    }

    /// Runs with agents reject it for this reason.
    pub(crate) const fn not_with_agents(mut self, why: &'static str) -> Self {
        self.not_with_agents = Some(why);
        self
    }

    /// The short help shows it.
    pub(crate) const fn common(mut self) -> Self {
        self.is_common = true;
        self
    }

    /// Whether it has an effect on a command on a workload.
    pub(crate) fn applies_to(&self, command: &str) -> bool {
        match command {
            "run" => self.scope != Scope::Ladders,
            "saturate" => self.scope != Scope::SingleLoads,
            "calibrate" => !matches!(self.scope, Scope::Results | Scope::Shown | Scope::Ladders),
            "search" => self.not_of_searches.is_none(),
            _ => !matches!(self.scope, Scope::Loads | Scope::Results | Scope::Ladders),
        }
    }

    /// Whether it has an effect on a test of the host.
    pub(crate) fn applies_to_test(&self, test: &Test) -> bool {
        match self.host {
            HostTests::All => true,
            HostTests::Draws => test.draws_places,
            HostTests::None => false,
        }
    }
}
