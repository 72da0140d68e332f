//! Closed sets that users name: one enum, its names in specs and results, and nothing to forget.

/// An enum with names that users type for its variants.
pub trait Choice: Copy + 'static {
    /// Every variant, in the order in which they are declared.
    const ALL: &'static [Self];
    /// Names of the choices, in the same order.
    const NAMES: &'static [&'static str];

    /// The variant's name.
    fn name(self) -> &'static str;

    /// The variant of a name; `None` if there is none.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }
}

/// Declares an enum with the names that users type for its variants:
///
/// ```
/// pumice_types::choice! {
///     /// Which way the wind blows.
///     pub enum Wind {
///         /// From the north.
///         North = "north",
///         /// From the south.
///         South = "south",
///     }
/// }
/// use pumice_types::Choice;
/// assert_eq!(Wind::NAMES, ["north", "south"]);
/// assert_eq!(Wind::from_name("south"), Some(Wind::South));
/// ```
///
/// The enum implements [`Choice`], `Display` and [`crate::key::Field`], so it can be the type of a key.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:expr),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(clippy::enum_variant_names, reason = "variants are called what users call them")]
        $vis enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $crate::Choice for $name {
            const ALL: &'static [Self] = &[$($name::$variant),+];
            const NAMES: &'static [&'static str] = &[$($text),+];

            fn name(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }

        // By hand and not derived: what is derived names this crate, which plug-ins do not depend on under its name.
        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u32(*self as u32)
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let place = <u32 as $crate::serde::Deserialize>::deserialize(deserializer)?;
                let choice = <$name as $crate::Choice>::ALL.get(place as usize).copied();
                choice.ok_or_else(|| $crate::serde::de::Error::custom("there is no such choice"))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::Choice::name(*self))
            }
        }

        impl $crate::key::Field for $name {
            const SHAPE: $crate::key::ValueKind =
                $crate::key::ValueKind::Choice(<$name as $crate::Choice>::NAMES);

            fn read(value: Option<&$crate::key::Value>) -> Result<Self, $crate::SpecError> {
                let name = value.and_then($crate::key::Value::as_text).unwrap_or_default();
                <$name as $crate::Choice>::from_name(name).ok_or_else(|| "is not allowed".into())
            }

            fn write(&self) -> Option<$crate::key::Value> {
                Some($crate::key::Value::Text($crate::Choice::name(*self).to_string()))
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::Choice;

    choice! {
        /// Three of something.
        enum Three { One = "one", Two = "two", Three = "three" }
    }

    #[test]
    fn t020_names_are_bijective() {
        assert_eq!(Three::ALL.len(), Three::NAMES.len());
        for (&choice, &name) in Three::ALL.iter().zip(Three::NAMES) {
            assert_eq!((choice.name(), Three::from_name(name)), (name, Some(choice)));
        }
        assert_eq!(Three::from_name("four"), None);
        assert_eq!(Three::Two.to_string(), "two");
    }
}
