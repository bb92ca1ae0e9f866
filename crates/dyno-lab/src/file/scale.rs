//! Smaller versions of an experiment: values by dotted key, substituted before the types are read.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Problems, nearest};

/// Applies the scale with this name; returns whether that succeeded.
pub(crate) fn apply(table: &mut DeTable, scale: Option<&str>, problems: &mut Problems) -> bool {
    let Some(name) = scale else { return true };
    let scales = table
        .get("scale")
        .and_then(|scales| match scales.get_ref() {
            DeValue::Table(scales) => Some(scales.clone()),
            _ => None,
        });
    let scales = scales.unwrap_or_default();
    let Some(overrides) = scales.get(name) else {
        let names = scales.keys().map(|key| key.get_ref().as_ref());
        let near = nearest(name, names);
        problems.add(None, format!("there is no [scale.{name}]; {near}"));
        return false;
    };
    let DeValue::Table(overrides) = overrides.get_ref() else {
        let what = format!("[scale.{name}] is a table: values by dotted key");
        problems.add(Some(overrides.span()), what);
        return false;
    };
    let mut good = true;
    // Changes to levels come before the selection of levels.
    let chooses = |key: &str| key.ends_with(".levels");
    let (last, first): (Vec<_>, Vec<_>) = overrides
        .iter()
        .partition(|(key, _)| chooses(key.get_ref()));
    for (key, value) in first.into_iter().chain(last) {
        let mut path = key.get_ref().as_ref();
        let mut names = Vec::new();
        while let Some((first, rest)) = path.split_once('.') {
            names.push(first);
            path = rest;
        }
        names.push(path);
        if let Err(what) = put(table, &names, key, value.clone()) {
            problems.add(Some(key.span()), what);
            good = false;
        }
    }
    good
}

type Value<'a> = Spanned<DeValue<'a>>;

/// Puts a value at a path; names in the path select list entries by their `name`.
fn put<'a>(
    table: &mut DeTable<'a>,
    path: &[&str],
    key: &Spanned<Cow<'a, str>>,
    value: Value<'a>,
) -> Result<(), String> {
    let [first, rest @ ..] = path else {
        return Ok(());
    };
    if rest.is_empty() {
        if *first == "levels" {
            let value = by_name(table.get("levels"), value);
            if let Some(there) = table.get("levels").cloned() {
                replace(table, "levels of the file", key, there);
            }
            replace(table, first, key, value);
        } else {
            replace(table, first, key, value);
        }
        return Ok(());
    }
    // `factor.fs.level.xfs.KEY`: a level of the list `levels`.
    let plural = if *first == "level" { "levels" } else { first };
    if table.get(plural).is_none() {
        let empty = Spanned::new(key.span(), DeValue::Table(DeTable::new()));
        replace(table, plural, key, empty);
    }
    let Some(inner) = table.get_mut(plural) else {
        return Ok(());
    };
    match inner.get_mut() {
        DeValue::Table(inner) => put(inner, rest, key, value),
        DeValue::Array(list) => {
            let names: Vec<String> = list.iter().filter_map(name_of).collect();
            // A name may contain dots: take the longest that fits.
            for taken in (1..rest.len()).rev() {
                let name = rest[..taken].join(".");
                let found = list
                    .iter_mut()
                    .find(|item| name_of(item).as_ref() == Some(&name));
                if let Some(DeValue::Table(item)) = found.map(Spanned::get_mut) {
                    return put(item, &rest[taken..], key, value);
                }
            }
            let near = nearest(rest[0], names.iter().map(String::as_str));
            Err(format!("{plural} has no '{}'; {near}", rest[0]))
        }
        _ => Err(format!("'{plural}' is a value, so it has no '{}'", rest[0])),
    }
}

fn replace<'a>(table: &mut DeTable<'a>, name: &str, key: &Spanned<Cow<'a, str>>, value: Value<'a>) {
    if let Some(there) = table.get_mut(name) {
        *there = value;
    } else {
        table.insert(Spanned::new(key.span(), Cow::Owned(name.to_owned())), value);
    }
}

/// Replaces selected names of bundles with the bundles.
fn by_name<'a>(there: Option<&Value<'a>>, mut chosen: Value<'a>) -> Value<'a> {
    let Some(DeValue::Array(bundles)) = there.map(Spanned::get_ref) else {
        return chosen;
    };
    if let DeValue::Array(chosen) = chosen.get_mut() {
        for level in chosen.iter_mut() {
            let DeValue::String(name) = level.get_ref() else {
                continue;
            };
            let is_it = |item: &&Value| name_of(item).as_deref() == Some(name.as_ref());
            if let Some(bundle) = bundles.iter().find(is_it) {
                *level = bundle.clone();
            }
        }
    }
    chosen
}

fn name_of(item: &Value) -> Option<String> {
    match item.get_ref() {
        DeValue::Table(table) => match table.get("name")?.get_ref() {
            DeValue::String(name) => Some(name.to_string()),
            _ => None,
        },
        _ => None,
    }
}
