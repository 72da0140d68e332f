//! What the registry's lines are made into: the enum of layers, their keys, and the choice of a layer's code by its
//! variant. The lines are in `layers/mod.rs`.

/// Makes the enum of layers and the names that users type. A line is: variant, name in `ftl.kind`, field of its own
/// keys, the type that implements [`Layer`], what it is. The layer of the last line has the names of plug-ins, which
/// are known only where their files are given.
macro_rules! registry {
    (
        $($variant:ident = $name:literal, $keys:ident: $layer:ty, $about:literal;)+
        @ $plugged:ident, $plugged_keys:ident: $plugged_layer:ty, $plugged_about:literal;
    ) => {
        /// Every translation layer that a spec can ask for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FtlKind { $(#[doc = $about] $variant,)+ #[doc = $plugged_about] $plugged(PluginName) }

        /// The layers that are built in.
        impl Choice for FtlKind {
            const ALL: &'static [FtlKind] = &[$(FtlKind::$variant),+];
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn name(self) -> &'static str {
                match self { $(FtlKind::$variant => $name,)+ FtlKind::$plugged(name) => name.kind() }
            }
        }

        impl FtlKind {
            /// The plug-in, if it is one.
            pub fn plugin(self) -> Option<PluginName> {
                match self { $(FtlKind::$variant => None,)+ FtlKind::$plugged(name) => Some(name) }
            }
        }

        /// The row of `ftl.kind`.
        const KIND: Key = Key {
            path: "ftl.kind",
            shape: FtlKind::SHAPE,
            range: Range::None,
            unit: "",
            default: "\"nftl\"",
            source: CHOSEN,
            when: When::Always,
            text: concat!("Translation layer.", $(" ", $name, ": ", $about, "."),+),
            check: |value| FtlKind::read(Some(value)).map(|_| ()),
        };

        dispatch! {
            $($variant, $keys: $layer, $about;)+
            $plugged, $plugged_keys: $plugged_layer, $plugged_about;
        }
    };
}

/// Makes keys and dispatch from the registry's lines, that of plug-ins included.
macro_rules! dispatch {
    ($($variant:ident, $keys:ident: $layer:ty, $about:literal;)+) => {
        /// `[ftl]`: which layer, and the keys of all of them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FtlKeys {
            /// Which layer.
            pub kind: FtlKind,
            /// Keys that several layers read.
            pub shared: SharedKeys,
            /// Keys of layers with superblocks.
            pub superblock: SuperblockKeys,
            /// Victim policies and their keys.
            pub policies: PolicyKeys,
            /// The user's own policy, which is given with a spec and not in it.
            pub own_policy: Option<OwnPolicy>,
            $(#[doc = concat!("Keys of one layer alone: ", $about, ".")] pub $keys: <$layer as Layer>::Keys),+
        }

        impl Keys for FtlKeys {
            fn rows() -> Vec<&'static Key> {
                let mut rows = vec![&KIND];
                rows.extend(SharedKeys::rows());
                rows.extend(SuperblockKeys::rows());
                rows.extend(PolicyKeys::rows());
                $(rows.extend(<<$layer as Layer>::Keys as Keys>::rows());)+
                rows
            }

            fn read(values: &Values) -> Result<FtlKeys, SpecError> {
                Ok(FtlKeys {
                    kind: read_field("ftl.kind", values)?,
                    shared: SharedKeys::read(values)?,
                    superblock: SuperblockKeys::read(values)?,
                    policies: PolicyKeys::read(values)?,
                    own_policy: None,
                    $($keys: Keys::read(values)?),+
                })
            }

            fn write(&self, values: &mut Values) {
                values.extend(self.kind.write().map(|kind| ("ftl.kind", kind)));
                self.shared.write(values);
                self.superblock.write(values);
                self.policies.write(values);
                if let Some(policy) = &self.own_policy {
                    values.extend(policy.values().iter().map(|(path, value)| (*path, value.clone())));
                }
                $(self.$keys.write(values);)+
            }
        }

        impl FtlKind {
            /// The layer's own keys.
            pub fn own_keys(self) -> Vec<&'static Key> {
                match self { $(FtlKind::$variant { .. } => <<$layer as Layer>::Keys as Keys>::rows()),+ }
            }

            /// What is fixed of the layer.
            pub fn facts(self) -> &'static Facts {
                match self { $(FtlKind::$variant { .. } => &<$layer as Layer>::FACTS),+ }
            }
        }

        impl FtlKeys {
            /// The chips that the layer assumes.
            pub fn adapted(&self, chip: &ChipKeys) -> ChipKeys {
                let mut chip = chip.clone();
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::adapt(&mut chip, &self.$keys)),+ }
                chip
            }

            /// See [`Layer::erase_unit`].
            pub fn erase_unit(&self) -> EraseUnit {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::erase_unit(&self.$keys)),+ }
            }

            fn check_layer(&self, spec: &LayerSpec) -> Result<(), SpecError> {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::check(spec, &self.$keys)),+ }
            }

            /// See [`Layer::check_retirement`]; `chip` are the chips that the layer assumes.
            ///
            /// # Errors
            /// As there.
            pub fn check_retirement(&self, chip: &ChipKeys, initial: &InitialKeys) -> Result<(), SpecError> {
                let spec = &self.spec(chip, initial);
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::check_retirement(spec, &self.$keys)),+ }
            }

            /// See [`Layer::recover`].
            ///
            /// # Errors
            /// As there.
            pub fn recover(
                &self,
                parts: &LayerParts,
                restart: &mut Restart,
            ) -> Result<(Ftl, RecoveryCounts), FtlError> {
                Ok(match self.kind {
                    $(FtlKind::$variant { .. } => {
                        let (layer, counts) = <$layer as Layer>::recover(parts, &self.$keys, restart)?;
                        (Ftl::$variant(Box::new(layer)), counts)
                    }),+
                })
            }

            /// See [`Layer::extra_blocks`].
            pub fn extra_blocks(&self, spec: &LayerSpec) -> u32 {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::extra_blocks(spec, &self.$keys)),+ }
            }

            /// See [`Layer::capacity`].
            ///
            /// # Errors
            /// A plug-in that cannot tell.
            pub fn user_pages(&self, spec: &LayerSpec, geometry: &Geometry) -> Result<u32, SpecError> {
                match self.kind { $(FtlKind::$variant { .. } => <$layer as Layer>::capacity(spec, &self.$keys, geometry)),+ }
            }

            /// See [`Layer::translation_pages`].
            pub fn translation_pages(&self, spec: &LayerSpec, user_pages: u32) -> u32 {
                match self.kind {
                    $(FtlKind::$variant { .. } => <$layer as Layer>::translation_pages(spec, &self.$keys, user_pages)),+
                }
            }

            /// Builds the layer and fills it.
            ///
            /// # Errors
            /// A fill that does not fit, which [`FtlKeys::check`] rules out.
            pub fn build(&self, parts: &LayerParts, target: &mut dyn FillTarget) -> Result<Ftl, FtlError> {
                Ok(match self.kind {
                    $(FtlKind::$variant { .. } => Ftl::$variant(Box::new(<$layer as Layer>::build(parts, &self.$keys, target)?))),+
                })
            }
        }

        /// Every translation layer at work. An enum and not a trait object: the choice is made once for each
        /// access, and what follows is compiled for the layer.
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum Ftl { $(#[doc = $about] $variant(Box<<$layer as Layer>::Running>)),+ }

        impl Ftl {
            /// A layer of the same state, which goes on alone; `None` for one of the user's own.
            pub fn copied(&self) -> Option<Ftl> {
                Some(match self { $(Ftl::$variant(ftl) => Ftl::$variant(Box::new(CopiedLayer::copied(&**ftl)?))),+ })
            }
        }

        /// One call on whichever layer there is.
        macro_rules! each {
            ($self:ident, $ftl:ident => $call:expr) => {
                match $self { $(Ftl::$variant($ftl) => $call),+ }
            };
        }
    };
}
