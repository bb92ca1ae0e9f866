//! Resolves levels to the configuration of a trial: bundles, inheritance, base settings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::{Problems, nearest};
use crate::file::{
    Agents, Applies, Bundle, Data, Experiment, Explain, Factor, Level, Load, OneOrMany, Reset,
    Scalar, Server, Values,
};

/// A combination of levels, and the resulting configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The level of each factor, by name.
    pub levels: BTreeMap<String, String>,
    /// The resulting configuration.
    pub effective: Effective,
}

/// The configuration of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effective {
    /// The server with its settings.
    pub server: Server,
    /// The data to load.
    pub data: Data,
    /// The load to run.
    pub load: Load,
    /// The address that the load uses, such as `proxy`, if it is varied.
    pub path: Option<String>,
    /// Limits of the host.
    pub host: Values,
    /// Where the data is: file system, mount, size.
    pub place: Values,
    /// Settings to change on the running server.
    pub online: Values,
    /// Statements to execute on the running server, in order.
    pub sql: Vec<String>,
    /// How to undo them.
    pub undo: Vec<String>,
    /// Commands that run during the trial.
    pub commands: Vec<String>,
    /// Output of the commands to keep.
    pub output: BTreeMap<String, String>,
    /// Whether to record figures of each statement shape.
    #[serde(skip)]
    pub statements: bool,
    /// Whether to sample where the CPU time goes.
    #[serde(skip)]
    pub cpu_profile: bool,
    /// Statements to keep execution plans of; `all` means those of the load.
    #[serde(skip)]
    pub explain: Vec<String>,
    /// The promise of a search for the highest load.
    #[serde(skip)]
    pub search: Option<String>,
    /// Names of prices, which do not affect the identity.
    #[serde(skip)]
    pub prices: Vec<String>,
    /// The agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<Agents>,
    /// What to reset before the trial.
    pub reset: Reset,
}

fn explained(experiment: &Experiment) -> Vec<String> {
    match &experiment.explain {
        None | Some(Explain::All(false)) => Vec::new(),
        Some(Explain::All(true)) => vec!["all".to_owned()],
        Some(Explain::Statements(all)) => all.all().to_vec(),
    }
}

/// Whether a plain level of this factor has an effect.
pub(crate) fn has_meaning(factor: &Factor) -> bool {
    let by_name = !matches!(factor.applies, Applies::Start | Applies::Online);
    factor.setting.is_some() || !factor.set_by.is_empty() || by_name
}

/// The bundles that a level extends, recursively, in the order in which they are applied;
/// itself last.
pub(crate) fn likes<'a>(factor: &'a Factor, level: &'a Level) -> Result<Vec<&'a Bundle>, String> {
    let mut chain = Vec::new();
    if let Some(bundle) = level.bundle() {
        follow(factor, bundle, &mut Vec::new(), &mut chain)?;
    }
    Ok(chain)
}

fn follow<'a>(
    factor: &'a Factor,
    bundle: &'a Bundle,
    above: &mut Vec<&'a str>,
    chain: &mut Vec<&'a Bundle>,
) -> Result<(), String> {
    above.push(&bundle.name);
    for name in bundle.like.iter().flat_map(OneOrMany::all) {
        if above.contains(&name.as_str()) {
            let way = above.join(" is like ");
            return Err(format!(
                "levels refer to each other in a circle (like): {way} is like {name}"
            ));
        }
        let chosen = factor.levels.get_ref().iter().map(|level| level.get_ref());
        let bundles = || {
            chosen
                .clone()
                .chain(&factor.reserve)
                .filter_map(Level::bundle)
        };
        let Some(other) = bundles().find(|other| other.name == *name) else {
            let near = nearest(name, bundles().map(|other| other.name.as_str()));
            let level = &bundle.name;
            return Err(format!(
                "'{level}' is like '{name}', which is not a bundle; {near}"
            ));
        };
        follow(factor, other, above, chain)?;
    }
    above.pop();
    chain.push(bundle);
    Ok(())
}

/// Merges values, and remembers which factor set each.
struct Merge<'a> {
    by: BTreeMap<String, (&'a str, Option<Scalar>)>,
    wrong: Vec<String>,
}

impl<'a> Merge<'a> {
    fn says(&mut self, factor: &'a str, key: String, value: Option<&Scalar>) -> bool {
        if let Some((other, said)) = self.by.get(&key)
            && *other != factor
            && said.as_ref() != value
        {
            let word = |value: Option<&Scalar>| {
                value.map_or_else(|| "unset".to_owned(), ToString::to_string)
            };
            self.wrong.push(format!(
                "the factors '{other}' and '{factor}' both set {key}: to {} and to {}",
                word(said.as_ref()),
                word(value)
            ));
            return false;
        }
        self.by.insert(key, (factor, value.cloned()));
        true
    }

    fn all(&mut self, factor: &'a str, what: &str, values: &Values, into: &mut Values) {
        for (key, value) in values {
            if self.says(factor, format!("{what}.{key}"), Some(value)) {
                into.insert(key.clone(), value.clone());
            }
        }
    }

    fn one<T: ToString>(&mut self, factor: &'a str, key: &str, value: &Option<T>) -> bool {
        value.as_ref().is_some_and(|value| {
            self.says(
                factor,
                key.to_owned(),
                Some(&Scalar::Text(value.to_string())),
            )
        })
    }
}

/// A cell from one level of each factor.
///
/// # Errors
/// Two factors set the same key to different values; the message names both.
pub(crate) fn resolve(
    experiment: &Experiment,
    levels: &[(&Factor, &Level)],
) -> Result<Cell, Vec<String>> {
    let search = experiment.search.as_ref();
    let mut to = Effective {
        server: experiment.server.clone(),
        data: experiment.data.clone(),
        load: experiment.load.clone(),
        reset: experiment.reset.clone(),
        agents: experiment.agents.clone().map(toml::Spanned::into_inner),
        statements: experiment.observe.statements,
        cpu_profile: experiment.observe.cpu_profile,
        explain: explained(experiment),
        search: search.map(|search| search.get_ref().clone()),
        ..Effective::default()
    };
    let mut merge = Merge {
        by: BTreeMap::new(),
        wrong: Vec::new(),
    };
    let mut chains = Vec::new();
    for (factor, level) in levels {
        let chain = likes(factor, level).map_err(|why| vec![why])?;
        for bundle in &chain {
            beneath(&mut merge, factor.name.get_ref(), bundle, &mut to);
        }
        chains.push(chain);
    }
    for ((factor, level), chain) in levels.iter().zip(chains) {
        for bundle in chain {
            put_bundle(&mut merge, factor, bundle, &mut to);
        }
        put_plain(&mut merge, factor, level, &mut to);
        put_by(&mut merge, factor, level, levels, &mut to);
        if let Some(size) = &factor.size {
            let size = Scalar::Integer(i64::try_from(size.value()).unwrap_or(i64::MAX));
            to.place.insert("size".to_owned(), size);
        }
        let changes = !to.sql.is_empty() || !to.online.is_empty();
        if let Some(undo) = factor.undo.as_ref().filter(|_| changes) {
            to.undo.extend(undo.all().iter().cloned());
        }
    }
    if !merge.wrong.is_empty() {
        return Err(merge.wrong);
    }
    let named = levels.iter().map(|(factor, level)| {
        let name = factor.name.get_ref().clone();
        (name, level.name().to_owned())
    });
    Ok(Cell {
        levels: named.collect(),
        effective: to,
    })
}

/// Applies a level's removals and replacements to the base settings, before any level adds to them.
fn beneath<'a>(merge: &mut Merge<'a>, factor: &'a str, bundle: &Bundle, to: &mut Effective) {
    if bundle.replace_set.is_some() {
        to.server.set.clear();
    }
    for key in &bundle.unset {
        if merge.says(factor, format!("set.{key}"), None) {
            to.server.set.remove(key);
        }
    }
}

fn put_bundle<'a>(merge: &mut Merge<'a>, factor: &'a Factor, bundle: &Bundle, to: &mut Effective) {
    let name = factor.name.get_ref();
    if let Some(server) = &bundle.server {
        put_server(merge, name, server, &mut to.server);
    }
    if let Some(set) = &bundle.replace_set {
        merge.all(name, "set", set, &mut to.server.set);
    }
    let online = factor.applies <= Applies::Online;
    let set = if online {
        &mut to.online
    } else {
        &mut to.server.set
    };
    merge.all(name, "set", &bundle.set, set);
    let options = if factor.applies == Applies::Load {
        // An option that was used to create the tables also applies to the load.
        if to.load.workload == to.data.workload {
            merge.all(name, "options", &bundle.options, &mut to.load.options);
        }
        &mut to.data.options
    } else {
        &mut to.load.options
    };
    merge.all(name, "options", &bundle.options, options);
    to.data.by = bundle.data_by.or(to.data.by);
    merge.all(name, "host", &bundle.host, &mut to.host);
    for (key, value) in [("fs", &bundle.fs), ("mount", &bundle.mount)] {
        if let Some(value) = value {
            let one = Values::from([(key.to_owned(), Scalar::Text(value.clone()))]);
            merge.all(name, "place", &one, &mut to.place);
        }
    }
    for statement in &bundle.sql {
        let mut sql = statement.clone();
        for (prefix, text) in &factor.prefix {
            sql = sql.replace(&format!("{{{prefix}}}"), text);
        }
        to.sql.push(sql);
    }
    to.commands.extend(bundle.command.clone());
    to.output.extend(bundle.output.clone());
    to.prices.extend(bundle.price.clone());
}

fn put_server<'a>(merge: &mut Merge<'a>, factor: &'a str, from: &Server, to: &mut Server) {
    for (key, value, place) in [
        ("server.kind", &from.kind, &mut to.kind),
        ("server.url", &from.url, &mut to.url),
        ("server.basedir", &from.basedir, &mut to.basedir),
    ] {
        if merge.one(factor, key, value) {
            place.clone_from(value);
        }
    }
    if merge.one(factor, "server.nodes", &from.nodes) {
        to.nodes = from.nodes;
    }
    let topology = from.topology.map(|topology| format!("{topology:?}"));
    if merge.one(factor, "server.topology", &topology) {
        to.topology = from.topology;
    }
    if let Some(proxy) = &from.proxy {
        merge.all(factor, "proxy", proxy, to.proxy.get_or_insert_default());
    }
    merge.all(factor, "set", &from.set, &mut to.set);
    merge.all(
        factor,
        "environment",
        &from.environment,
        &mut to.environment,
    );
    merge.all(factor, "files", &from.files, &mut to.files);
    for plugin in &from.plugins {
        if !to.plugins.contains(plugin) {
            to.plugins.push(plugin.clone());
        }
    }
}

fn put_plain<'a>(merge: &mut Merge<'a>, factor: &'a Factor, level: &Level, to: &mut Effective) {
    let Level::Plain(value, text) = level else {
        return;
    };
    let name = factor.name.get_ref();
    if let Some(setting) = &factor.setting {
        let one = Values::from([(setting.clone(), value.clone())]);
        let online = factor.applies <= Applies::Online;
        let set = if online {
            &mut to.online
        } else {
            &mut to.server.set
        };
        merge.all(name, "set", &one, set);
        return;
    }
    if !factor.set_by.is_empty() {
        return;
    }
    let one = Values::from([(name.clone(), value.clone())]);
    match (factor.applies, name.as_str()) {
        (Applies::Load, _) => merge.all(name, "options", &one, &mut to.data.options),
        (Applies::Place, _) => merge.all(name, "place", &one, &mut to.place),
        (_, "path") => to.path = Some(text.clone()),
        (_, "sessions") => to.load.sessions = text.parse().ok(),
        (_, "clients") => to.load.clients = text.parse().ok(),
        (_, "rate") => to.load.rate = serde_json::from_value(text.clone().into()).ok(),
        _ => merge.all(name, "options", &one, &mut to.load.options),
    }
}

fn put_by<'a>(
    merge: &mut Merge<'a>,
    factor: &'a Factor,
    level: &Level,
    levels: &[(&Factor, &Level)],
    to: &mut Effective,
) {
    for (other, by_level) in &factor.set_by {
        let its = levels
            .iter()
            .find(|(factor, _)| factor.name.get_ref() == other);
        let Some(values) = its.and_then(|(_, its)| by_level.get_ref().get(its.name())) else {
            continue;
        };
        let filled = values.iter().map(|(key, value)| {
            let value = match (value, level) {
                (Scalar::Text(text), Level::Plain(plain, _)) if text == "{level}" => plain.clone(),
                (Scalar::Text(text), _) => Scalar::Text(text.replace("{level}", level.name())),
                (other, _) => other.clone(),
            };
            (key.clone(), value)
        });
        let filled: Values = filled.collect();
        let online = factor.applies <= Applies::Online;
        let set = if online {
            &mut to.online
        } else {
            &mut to.server.set
        };
        merge.all(factor.name.get_ref(), "set", &filled, set);
    }
}

impl Experiment {
    /// All cells: the full crossing, or the listed ones, in the order of the file. All cells of an
    /// experiment that was read without an error can be resolved.
    pub fn cells(&self) -> Vec<Cell> {
        self.resolved().unwrap_or_default()
    }

    fn resolved(&self) -> Result<Vec<Cell>, Vec<String>> {
        let factors = self.crossed();
        let mut combinations: Vec<Vec<(&Factor, &Level)>> = vec![Vec::new()];
        for factor in factors {
            let longer = combinations.iter().flat_map(|begun| {
                factor.levels.get_ref().iter().map(|level| {
                    let mut longer = begun.clone();
                    longer.push((factor, level.get_ref()));
                    longer
                })
            });
            combinations = longer.collect();
        }
        let (mut cells, mut wrong) = (Vec::new(), Vec::new());
        for combination in combinations {
            match resolve(self, &combination) {
                Ok(cell) => cells.push(cell),
                Err(why) => wrong.extend(why),
            }
        }
        if !wrong.is_empty() {
            wrong.sort();
            wrong.dedup();
            return Err(wrong);
        }
        if self.design.list.is_empty() {
            return Ok(cells);
        }
        let mut listed: Vec<Cell> = Vec::new();
        for entry in &self.design.list {
            for cell in cells.iter().filter(|cell| cell.is_of(entry)) {
                if !listed.iter().any(|other| other.levels == cell.levels) {
                    listed.push(cell.clone());
                }
            }
        }
        Ok(listed)
    }

    /// The configuration for creating a cell's data: the levels of factors that need other data, on
    /// the server of the file. A cell with another server keeps its own settings.
    pub fn image_of(&self, cell: &Cell) -> Effective {
        let mut levels: Vec<(&Factor, &Level)> = Vec::new();
        for factor in &self.factors {
            let own = cell.levels.get(factor.name.get_ref());
            let mut all = factor.levels.get_ref().iter().map(|level| level.get_ref());
            let level = all.find(|level| Some(level.name()) == own.map(String::as_str));
            levels.extend(
                level
                    .filter(|_| factor.applies == Applies::Load)
                    .map(|l| (factor, l)),
            );
        }
        let made = resolve(self, &levels).map(|made| made.effective);
        let own = &cell.effective;
        let of = |server: &Server| (server.kind.clone(), server.basedir.clone());
        match made {
            Ok(made) if of(&made.server) == of(&own.server) => made,
            _ => own.clone(),
        }
    }

    pub(crate) fn check_cells(&self, problems: &mut Problems) {
        match self.resolved() {
            Err(wrong) => wrong.into_iter().for_each(|what| problems.add(None, what)),
            Ok(cells) => {
                let span = self
                    .design
                    .baseline
                    .values()
                    .next()
                    .map(toml::Spanned::span);
                let of_base = cells
                    .iter()
                    .filter(|cell| cell.is_of(&self.design.baseline));
                let count = of_base.count();
                if count == 0 {
                    problems.add(span, "the baseline matches no cell of the design");
                } else if self.design.bracket && count > 1 {
                    let what = format!(
                        "`bracket` needs a baseline of one cell, but this one matches {count}; \
                         give a level of each factor"
                    );
                    problems.add(span, what);
                }
            }
        }
    }
}

impl Cell {
    /// Whether it has these levels.
    pub fn is_of(&self, cells: &crate::file::Where) -> bool {
        cells.iter().all(|(factor, levels)| {
            let mine = self.levels.get(factor);
            let mut all = levels.get_ref().all().iter();
            mine.is_some_and(|mine| all.any(|level| level.names(mine)))
        })
    }
}
