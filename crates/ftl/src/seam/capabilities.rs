//! The accessors of capabilities that a layer always has.

/// Declares capabilities inside `impl TranslationLayer`: each accessor returns the layer itself. A capability that
/// depends on the spec has an accessor of its own.
macro_rules! capabilities {
    (@figures) => {
        #[inline]
        fn figures(&self) -> Option<&dyn $crate::seam::Figures> {
            Some(self)
        }

        #[inline]
        fn figures_mut(&mut self) -> Option<&mut dyn $crate::seam::Figures> {
            Some(self)
        }
    };
    (@memory) => { $crate::seam::capabilities!(@shared memory MemoryUse); };
    (@look_ahead) => { $crate::seam::capabilities!(@shared look_ahead LookAhead); };
    (@streams) => { $crate::seam::capabilities!(@exclusive streams Streams); };
    (@durable_trims) => { $crate::seam::capabilities!(@exclusive durable_trims DurableTrims); };
    (@retirement) => { $crate::seam::capabilities!(@exclusive retirement Retirement); };
    (@merging) => { $crate::seam::capabilities!(@exclusive merging Merging); };
    (@faults) => { $crate::seam::capabilities!(@exclusive faults Faults); };
    (@zone_operations) => { $crate::seam::capabilities!(@exclusive zone_operations ZoneOperations); };
    (@shared $name:ident $capability:ident) => {
        #[inline]
        fn $name(&self) -> Option<&dyn $crate::seam::$capability> {
            Some(self)
        }
    };
    (@exclusive $name:ident $capability:ident) => {
        #[inline]
        fn $name(&mut self) -> Option<&mut dyn $crate::seam::$capability> {
            Some(self)
        }
    };
    ($($name:ident),+) => { $($crate::seam::capabilities!(@$name);)+ };
}

pub(crate) use capabilities;
