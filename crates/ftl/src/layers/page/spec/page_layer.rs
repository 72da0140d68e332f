//! The page-level FTL as an entry of the registry.

use pumice_types::{ChipKeys, Geometry, Lpn, SpecError, refuse};

use super::page_spec::{PageKeys, cached_map, config, data_pages, log_shape, trim_shape};
use super::{check, map_units};
use crate::layers::page::{PageFtl, TrimShape};
use crate::plan::{EraseUnit, FillTarget, FtlError};
use crate::seam::{Facts, Layer, LayerParts, LayerSpec, MapPlace, Recovery, RecoveryCounts, Reports, Restart};

impl Layer for PageFtl {
    type Keys = PageKeys;
    type Running = PageFtl;

    const FACTS: Facts = Facts {
        reads: &["over_provisioning", "gc_free_threshold", "map_cache_entries"],
        strict_keys: &[
            "ftl.gc_mode",
            "ftl.allocation",
            "ftl.erase_unit",
            "ftl.hot_cold",
            "ftl.wear_leveling",
            "ftl.handles",
            "ftl.map_unit_bytes",
            "ftl.erase_group",
        ],
        map_places: &[MapPlace::Ram, MapPlace::Cached],
        recoveries: &[Recovery::Off, Recovery::Scan, Recovery::Summary, Recovery::Checkpoint],
        chooses_victims: true,
        asks_policies: true,
        writes_everywhere: true,
        gives_up_trimmed: true,
        writes_down_trims: true,
        reports: Reports::VICTIMS,
        ..Facts::PLAIN
    };

    fn erase_unit(keys: &PageKeys) -> EraseUnit {
        keys.erase_unit
    }

    fn adapt(chip: &mut ChipKeys, keys: &PageKeys) {
        if let Some(units) = map_units::units_per_page(chip, keys) {
            chip.map_units(units);
        }
    }

    fn check(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
        check::check(spec, keys)
    }

    fn check_retirement(spec: &LayerSpec, keys: &PageKeys) -> Result<(), SpecError> {
        match (keys.erase_unit, spec.shared.map_place) {
            (EraseUnit::Block, MapPlace::Ram) => Ok(()),
            (EraseUnit::Block, place) => Err(refuse!("ftl.map_place = \"ram\", found \"{place}\"")),
            (unit, _) => Err(refuse!("ftl.erase_unit = \"block\", found \"{unit}\"")),
        }
    }

    fn capacity(spec: &LayerSpec, _: &PageKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        Ok(spec.pages_for_host(geometry))
    }

    fn translation_pages(spec: &LayerSpec, keys: &PageKeys, user_pages: u32) -> u32 {
        let summaries = u32::from(data_pages(spec) < spec.chip.geometry.pages_per_block);
        let map = cached_map(spec, keys).map_or(0, |map| user_pages.div_ceil(map.entries_per_page));
        let trims = trim_shape(spec, keys, user_pages).map_or(0, TrimShape::pages);
        map + summaries + trims + log_shape(spec, keys).map_or(0, |log| log.own_pages())
    }

    fn build(parts: &LayerParts, keys: &PageKeys, target: &mut dyn FillTarget) -> Result<PageFtl, FtlError> {
        let mut ftl = PageFtl::new(config(parts, keys), parts.bad_blocks);
        ftl.set_blank_aside();
        let initial = parts.spec.initial;
        let filled = ftl.fill(if initial.is_drawn() { 0.0 } else { initial.fill }, |filled| target.program(&filled))?;
        target.note_stored(Lpn(0), filled);
        if parts.geometry.units_per_page > 1 {
            ftl.fill_map_of_units(target)?;
        }
        ftl.begin_log(target);
        Ok(ftl)
    }

    fn recover(
        parts: &LayerParts,
        keys: &PageKeys,
        restart: &mut Restart,
    ) -> Result<(PageFtl, RecoveryCounts), FtlError> {
        let config = config(parts, keys);
        match config.log {
            Some(_) => PageFtl::from_log(config, parts.bad_blocks, restart),
            None => PageFtl::scan(config, parts.bad_blocks, restart),
        }
    }
}
