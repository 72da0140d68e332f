//! Keys that are declared apart and read together.

/// Declares a struct of structs of keys; the rows of the parts follow each other.
macro_rules! key_group {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident : $type:ty,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[$field_meta])* pub $field: $type),+ }

        impl ::pumice_types::key::Keys for $name {
            fn rows() -> Vec<&'static ::pumice_types::key::Key> {
                [$(<$type as ::pumice_types::key::Keys>::rows()),+].concat()
            }

            fn read(values: &::pumice_types::key::Values) -> Result<Self, ::pumice_types::SpecError> {
                Ok($name { $($field: ::pumice_types::key::Keys::read(values)?),+ })
            }

            fn write(&self, values: &mut ::pumice_types::key::Values) {
                $(::pumice_types::key::Keys::write(&self.$field, values);)+
            }
        }
    };
}

pub(crate) use key_group;
