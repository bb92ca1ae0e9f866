//! `[price]`: prices of servers, storage and operations on a given day.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::Experiment;
use crate::error::{Problems, nearest};

/// Hours of an average month, the default.
const HOURS_PER_MONTH: f64 = 730.0;
/// The keys of `[price]` that are not components.
const OWN: [&str; 4] = ["date", "hours_per_month", "nodes", "currency"];

/// Prices on a given day.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The day.
    pub date: String,
    /// The currency.
    pub currency: String,
    /// The number of hours billed per month.
    pub hours_per_month: f64,
    /// The quantity of each component for a server with several nodes.
    pub nodes: f64,
    /// Components by the names that levels use.
    pub components: BTreeMap<String, Price>,
}

/// The price of one component.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Per hour of an on-demand server.
    pub on_demand: Option<f64>,
    /// Per hour of a reserved server.
    pub reserved: Option<f64>,
    /// Fixed price per month.
    pub monthly: Option<f64>,
    /// Size of the storage in GB.
    pub gb: Option<f64>,
    /// Per GB and month.
    pub per_gb_month: Option<f64>,
    /// Provisioned operations per second.
    pub iops: Option<f64>,
    /// Per provisioned operation per second and month.
    pub per_iops_month: Option<f64>,
}

/// The monthly cost of a cell by kind of component.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Monthly {
    /// On-demand servers; `None` if one has no such price.
    pub on_demand: Option<f64>,
    /// Reserved servers; `None` if one has no such price.
    pub reserved: Option<f64>,
    /// Storage by its size.
    pub storage: f64,
    /// Provisioned operations.
    pub iops: f64,
    /// Fixed prices.
    pub flat: f64,
}

impl Monthly {
    /// The totals with on-demand and with reserved servers.
    pub fn totals(&self) -> [Option<f64>; 2] {
        let others = self.storage + self.iops + self.flat;
        [self.on_demand, self.reserved].map(|servers| Some(servers? + others))
    }
}

impl Prices {
    /// The monthly cost of the components with these names.
    pub fn monthly(&self, names: &[String]) -> Monthly {
        let mut all = Monthly::default();
        let known = names.iter().filter_map(|name| self.components.get(name));
        let (mut servers, mut none) = ([0.0, 0.0], [false, false]);
        for price in known {
            let hourly = [price.on_demand, price.reserved];
            if hourly.iter().any(Option::is_some) {
                for (at, hour) in hourly.into_iter().enumerate() {
                    match hour {
                        Some(hour) => servers[at] += hour * self.hours_per_month * self.nodes,
                        None => none[at] = true,
                    }
                }
            }
            let product = |count: Option<f64>, each: Option<f64>| {
                count.zip(each).map_or(0.0, |(count, each)| count * each) * self.nodes
            };
            all.storage += product(price.gb, price.per_gb_month);
            all.iops += product(price.iops, price.per_iops_month);
            all.flat += price.monthly.unwrap_or(0.0) * self.nodes;
        }
        all.on_demand = (!none[0]).then_some(servers[0]);
        all.reserved = (!none[1]).then_some(servers[1]);
        all
    }

    /// Adds a key of `[price]`; returns an error message if it is wrong.
    fn put(&mut self, name: &str, value: &Spanned<toml::Value>) -> Option<String> {
        let inner = value.get_ref();
        let number = inner.as_float().or(inner.as_integer().map(|n| n as f64));
        let number = number.filter(|number| number.is_finite() && *number > 0.0);
        match (name, inner) {
            ("date", toml::Value::Datetime(date)) => self.date = date.to_string(),
            ("currency", toml::Value::String(text)) => self.currency.clone_from(text),
            ("hours_per_month", _) if number.is_some() => self.hours_per_month = number?,
            ("nodes", _) if number.is_some() => self.nodes = number?,
            (own, _) if OWN.contains(&own) => {
                return Some(format!(
                    "[price] {own}: expected {}",
                    match own {
                        "date" => "a day such as 2017-09-01, without quotes",
                        "currency" => "a string such as \"EUR\"",
                        _ => "a number above 0",
                    }
                ));
            }
            (_, toml::Value::Table(_)) => {
                let price = Price::deserialize(inner.clone());
                let price = price.map_err(|why| super::said(why.message()));
                match price.and_then(|price| mistake(&price).map_or(Ok(price), Err)) {
                    Ok(price) => drop(self.components.insert(name.to_owned(), price)),
                    Err(why) => return Some(format!("the price '{name}': {why}")),
                }
            }
            _ => {
                let near = nearest(name, OWN);
                return Some(format!(
                    "[price] has no key '{name}'; {near}, or a component such as {{ on_demand = \
                     0.133 }}"
                ));
            }
        }
        None
    }
}

impl Experiment {
    /// Its prices, if any.
    pub fn prices(&self) -> Option<Prices> {
        read(self).ok().flatten()
    }
}

type Wrong = (Range<usize>, String);

fn read(experiment: &Experiment) -> Result<Option<Prices>, Vec<Wrong>> {
    let given = &experiment.price;
    let Some(first) = given.values().next() else {
        return Ok(None);
    };
    let mut wrong: Vec<Wrong> = Vec::new();
    let mut prices = Prices {
        date: String::new(),
        currency: "$".to_owned(),
        hours_per_month: HOURS_PER_MONTH,
        nodes: 1.0,
        components: BTreeMap::new(),
    };
    for (name, value) in given {
        if let Some(what) = prices.put(name, value) {
            wrong.push((value.span(), what));
        }
    }
    if prices.date.is_empty() && wrong.is_empty() {
        let what = "[price] needs the day of the prices: date = 2017-09-01";
        wrong.push((first.span(), what.to_owned()));
    }
    match wrong.is_empty() {
        true => Ok(Some(prices)),
        false => Err(wrong),
    }
}

fn mistake(price: &Price) -> Option<String> {
    let all = [
        price.on_demand,
        price.reserved,
        price.monthly,
        price.gb,
        price.per_gb_month,
        price.iops,
        price.per_iops_month,
    ];
    let mut known = all.iter().flatten().peekable();
    if known.peek().is_none() {
        return Some("it has no price".to_owned());
    }
    if known.any(|value| !(value.is_finite() && *value >= 0.0)) {
        return Some("a price must be 0 or more".to_owned());
    }
    let half = |count: Option<f64>, each: Option<f64>| count.is_some() != each.is_some();
    if half(price.gb, price.per_gb_month) {
        return Some("`gb` and `per_gb_month` must be given together".to_owned());
    }
    half(price.iops, price.per_iops_month)
        .then(|| "`iops` and `per_iops_month` must be given together".to_owned())
}

/// Adds the errors in the prices and in the levels' price names.
pub(super) fn check(experiment: &Experiment, problems: &mut Problems<'_>) {
    let prices = match read(experiment) {
        Ok(prices) => prices,
        Err(wrong) => {
            for (span, what) in wrong {
                problems.add(Some(span), what);
            }
            return;
        }
    };
    for factor in &experiment.factors {
        for level in factor.levels.get_ref() {
            let bundle = level.get_ref().bundle();
            let Some(name) = bundle.and_then(|bundle| bundle.price.as_ref()) else {
                continue;
            };
            let components = prices.iter().flat_map(|prices| prices.components.keys());
            if !components.clone().any(|own| own == name) {
                let near = nearest(name, components.map(String::as_str));
                let what = format!("[price] has no '{name}'; {near}");
                problems.add(Some(level.span()), what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
        [[factor]]\nname = 'size'\napplies = 'load'\n\
        levels = [{ name = 'a', price = 'large' }, { name = 'b', price = 'io' }]\n";

    #[test]
    fn components_stay_apart_and_count_for_every_node() {
        let text = format!(
            "{HEAD}[price]\ndate = 2017-09-01\nnodes = 3\n\
             large = {{ on_demand = 0.133, reserved = 0.084 }}\n\
             io = {{ gb = 200, per_gb_month = 0.125, iops = 10000, per_iops_month = 0.065 }}\n"
        );
        let prices = Experiment::parse("x", &text, None).unwrap().prices();
        let prices = prices.unwrap();
        assert_eq!((prices.date.as_str(), prices.nodes), ("2017-09-01", 3.0));
        let own = prices.monthly(&["large".to_owned(), "io".to_owned()]);
        let near = |one: Option<f64>, other: f64| (one.unwrap() - other).abs() < 1e-6;
        assert!(near(own.on_demand, 0.133 * 730.0 * 3.0), "{own:?}");
        assert!(
            near(Some(own.storage), 75.0) && near(Some(own.iops), 1950.0),
            "{own:?}"
        );
        assert!(near(own.totals()[0], 291.27 + 2025.0), "{own:?}");
        assert!(near(own.totals()[1], 183.96 + 2025.0), "{own:?}");
        // Servers are free, also reserved ones.
        assert_eq!(prices.monthly(&[]).totals(), [Some(0.0), Some(0.0)]);
    }

    #[test]
    fn reports_mistakes_with_their_positions() {
        for (text, expected) in [
            (
                "date = '2017'\nlarge = { monthly = 1 }\nio = { monthly = 1 }",
                "10:8: [price] date",
            ),
            (
                "large = { monthly = 1 }\nio = { monthly = 1 }",
                "needs the day",
            ),
            ("date = 2017-09-01\nlarge = { monthly = 1 }", "has no 'io'"),
            (
                "date = 2017-09-01\nlarge = { on_demnd = 1 }\nio = { monthly = 1 }",
                "did you mean 'on_demand'?",
            ),
            (
                "date = 2017-09-01\nlarge = { gb = 1 }\nio = { monthly = 1 }",
                "must be given together",
            ),
            (
                "date = 2017-09-01\nlarge = { monthly = -1 }\nio = { monthly = 1 }",
                "must be 0 or more",
            ),
            (
                "date = 2017-09-01\nnode = 3\nlarge = { monthly = 1 }\nio = { monthly = 1 }",
                "did you mean 'nodes'?",
            ),
        ] {
            let text = format!("{HEAD}[price]\n{text}\n");
            let error = Experiment::parse("x", &text, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
