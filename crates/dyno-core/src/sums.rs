//! Structures of sums, with each field listed once.

/// Defines a structure of counts from a list of its fields, with their names and operations over
/// all of them. A count missing in the serialised form, as in older files, is 0.
macro_rules! sums {
    (
        $(#[$about:meta])*
        pub struct $Sums:ident { $($(#[$what:meta])* $field:ident,)+ }
    ) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize,
        )]
        #[serde(default)]
        pub struct $Sums { $($(#[$what])* pub $field: u64,)+ }

        impl $Sums {
            /// The names of all counts, in order.
            pub const NAMES: [&'static str; [$(stringify!($field)),+].len()] =
                [$(stringify!($field)),+];

            /// All counts, in the order of their names.
            pub fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$field),+]
            }

            /// The counts to write to, in the order of their names.
            pub fn values_mut(&mut self) -> [&mut u64; Self::NAMES.len()] {
                [$(&mut self.$field),+]
            }

            /// Adds another's sums.
            pub fn merge(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            /// The counts of `self` minus those of `part`, which `self` includes.
            pub fn without(&self, part: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(part.$field),)+ }
            }
        }
    };
}

pub(crate) use sums;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::interval::Counters;

    proptest! {
        #[test]
        fn every_count_is_merged_taken_away_and_named(
            mine: [u32; Counters::NAMES.len()],
            others: [u32; Counters::NAMES.len()],
        ) {
            let of = |values: [u32; Counters::NAMES.len()]| {
                let mut sums = Counters::default();
                for (count, value) in sums.values_mut().into_iter().zip(values) {
                    *count = u64::from(value);
                }
                sums
            };
            let (one, other) = (of(mine), of(others));
            let mut both = one;
            both.merge(&other);
            prop_assert_eq!(both.without(&other), one);
            let expected: Vec<u64> =
                mine.iter().zip(others).map(|(a, b)| u64::from(*a) + u64::from(b)).collect();
            prop_assert_eq!(both.values().to_vec(), expected);
            let json = serde_json::to_value(both).unwrap();
            for (name, value) in Counters::NAMES.iter().zip(both.values()) {
                prop_assert_eq!(json[*name].as_u64(), Some(value));
            }
            prop_assert_eq!(serde_json::from_value::<Counters>(json).unwrap(), both);
        }
    }
}
