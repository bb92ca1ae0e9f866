//! Macros that define each name once, as a constant and as a row of the catalogue.

/// Names by kind, unit and source, then families of names.
macro_rules! define {
    (
        $(one $kind:ident $unit:literal from $source:literal {
            $($constant:ident = $name:literal: $meaning:literal;)*
        })*
        $(each $each_kind:ident $each_unit:literal from $each_source:literal {
            $($family:ident = $before:literal $after:literal: $each_meaning:literal;)*
        })*
    ) => {
        pub(super) mod names {
            $($(
                #[doc = concat!("`", $name, "` ", $meaning)]
                pub const $constant: &str = $name;
            )*)*
            $($(
                #[doc = concat!("`", $before, "…", $after, "` ", $each_meaning)]
                pub const $family: $crate::catalogue::Family = $crate::catalogue::Family {
                    before: $before,
                    after: $after,
                };
            )*)*
        }

        pub(super) const ROWS: &[$crate::catalogue::Row] = &[
            $($($crate::catalogue::Row::new(
                stringify!($constant),
                $name,
                ($crate::catalogue::Kind::$kind, $unit),
                $meaning,
                $source,
            ),)*)*
            $($($crate::catalogue::Row::new(
                stringify!($family),
                concat!($before, "…", $after),
                ($crate::catalogue::Kind::$each_kind, $each_unit),
                $each_meaning,
                $each_source,
            ),)*)*
        ];
    };
}

/// Names without unit, meaning and source.
macro_rules! bare {
    ($kind:ident { $($constant:ident = $name:literal;)* }) => {
        define! {
            one $kind "" from "" {
                $($constant = $name: "";)*
            }
        }
    };
}
