//! What users of MQSim, SimpleSSD, FEMU and fio call things: the key that is meant, or why there is none.

use crate::near;

/// What to tell whoever types a name that is no key, by its last part in lower case with underscores.
pub fn instead_of(path: &str) -> Option<String> {
    let plain = path.rsplit('.').next().unwrap_or(path).to_lowercase().replace(['-', ' '], "_");
    told(|name| name == plain)
}

/// What to tell whoever misspells such a name by one letter.
pub fn instead_of_nearly(path: &str) -> Option<String> {
    let last = path.rsplit('.').next().unwrap_or(path);
    told(|name| near(last, name) == Some(1))
}

fn told(is_meant: impl Fn(&str) -> bool) -> Option<String> {
    let (_, meant) = NAMES.iter().find(|(names, _)| names.split_whitespace().any(&is_meant))?;
    Some(match meant {
        Meant::Key(key) => format!("here it is '{key}'"),
        Meant::Keys(text) | Meant::Why(text) => (*text).to_string(),
    })
}

/// What to tell whoever writes a section of another simulator.
pub fn section(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().as_str() {
        "flash" | "nand" | "chip" | "flash_parameter_set" => {
            "here it is [geometry] for the shape, [timing] for the times"
        }
        "ssd" | "device" | "device_parameter_set" | "controller" => "here it is [geometry], [timing] and [ftl]",
        "gc" | "mapping" | "wear_leveling" => "here it is [ftl]",
        "cache" | "dram" => "here they are host.write_buffer_kib and ftl.map_cache_entries",
        "io" | "job" | "fio" | "global" | "io_flow" => {
            "here it is [workload] and [host]; --fio-job takes a job of fio's"
        }
        "trace" => "here it is [workload] with kind = \"trace\"; --trace FILE sets it",
        "sweep" | "variants" => "in files for `pumice sweep` it is [vary]",
        _ => return None,
    })
}

/// What a name stands for.
pub enum Meant {
    /// One key.
    Key(&'static str),
    /// Several keys, in a sentence.
    Keys(&'static str),
    /// Nothing, and why.
    Why(&'static str),
}

use Meant::{Key, Keys, Why};

/// Names that other tools and users have, with blanks between them, and what they stand for.
pub const NAMES: &[(&str, Meant)] = &[
    // Times of the chip.
    (
        "t_read_us t_read tr t_r read_latency read_latency_us page_read_latency pg_rd_lat \
         nand_read_latency t_read_ns",
        Key("timing.t_r_us"),
    ),
    (
        "t_prog tprog t_program t_program_us program_latency prog_latency write_latency \
         page_program_latency pg_wr_lat t_write_us",
        Key("timing.t_prog_us"),
    ),
    (
        "t_bers tbers t_erase t_erase_us erase_latency erase_time block_erase_latency blk_er_lat t_er",
        Key("timing.t_bers_us"),
    ),
    (
        "channel_transfer_rate channel_bandwidth bus_speed channel_mbps io_rate ch_xfer_lat dma_speed",
        Key("timing.channel_mb_per_s"),
    ),
    (
        "read_latency_lsb page_read_latency_lsb read_latency_csb page_read_latency_csb read_latency_msb \
         page_read_latency_msb",
        Key("timing.t_r_us"),
    ),
    (
        "program_latency_lsb page_program_latency_lsb program_latency_csb page_program_latency_csb \
         program_latency_msb page_program_latency_msb",
        Key("timing.t_prog_us"),
    ),
    ("suspend erase_suspend suspension suspend_support suspend_erase erase_suspension", Key("erase.suspension")),
    ("suspend_erase_time suspend_program_time", Key("erase.suspend_us")),
    ("slc_cache slc_buffer pslc", Why("there is no SLC cache")),
    ("pe_cycles initial_wear", Key("erase.initial_pec")),
    (
        "block_pe_cycles_limit pe_limit",
        Keys(
            "here 'erase.endurance' only counts; blocks end by 'erase.worn_blocks', or with 'erase.max_loops' below 5",
        ),
    ),
    // Shape.
    ("channel_count channel num_channels nchs n_channels channel_no flash_channel_count", Key("geometry.channels")),
    (
        "chips chip_count chip_no_per_channel chips_no_per_channel packages ways way num_chips",
        Key("geometry.chips_per_channel"),
    ),
    ("dies die_count die_no_per_chip luns luns_per_ch lun num_dies", Key("geometry.dies_per_chip")),
    ("planes plane_count plane_no_per_die pls_per_lun num_planes", Key("geometry.planes_per_die")),
    ("blocks block_count block_no_per_plane blks_per_pl num_blocks nblocks", Key("geometry.blocks_per_plane")),
    ("block_pages pages page_no_per_block pgs_per_blk num_pages npages", Key("geometry.pages_per_block")),
    ("page_size page_capacity page_kib secs_per_pg flash_page_size", Key("geometry.page_bytes")),
    ("spare_size oob_size oob page_metadat_capacity page_metadata_capacity", Key("geometry.spare_bytes")),
    (
        "tlc mlc slc qlc cell_type cell flash_technology cell_mode bits",
        Keys("here it is 'geometry.bits_per_cell': 1 SLC, 2 MLC, 3 TLC, 4 QLC"),
    ),
    ("capacity device_size devsz_mb ssd_size device_capacity capacity_gb user_capacity", Key("geometry.capacity_gib")),
    (
        "block_size blocksize block_bytes",
        Keys(
            "of flash, a block is geometry.pages_per_block of geometry.page_bytes; of requests, here it is 'workload.request_bytes'",
        ),
    ),
    (
        "sector_size secsz lba_size logical_block_size",
        Why("sectors have 512 bytes; requests begin and end at any of them"),
    ),
    // Translation and collection.
    (
        "op op_ratio overprovisioning over_provision overprovisioning_ratio op_percent overprovision \
         spare_ratio",
        Keys("here it is 'ftl.over_provisioning' (spare / raw), or 'ftl.spare_over_user' (spare / user)"),
    ),
    (
        "gc_threshold gc_exec_threshold gc_thres_pcent gc_watermark gc_low_watermark gc_start \
         gcthreshold",
        Key("ftl.gc_free_threshold"),
    ),
    ("gc_hard_threshold gc_stop gc_high_watermark gc_thres_pcent_high", Key("ftl.gc_stop_threshold")),
    (
        "policy gc gc_block_selection_policy gc_algorithm victim_policy victim victim_selection gc_victim",
        Key("ftl.gc_policy"),
    ),
    (
        "preemptible_gc preemptible_gc_enabled gc_preemptible gc_preemption",
        Keys("here it is ftl.gc_mode = \"preemptible\""),
    ),
    ("use_copyback_for_gc copyback_gc use_copyback", Key("timing.copyback")),
    (
        "address_mapping page_mapping mapping ftl ftl_type mapping_type mapping_scheme mapping_granularity",
        Key("ftl.kind"),
    ),
    ("map_unit mapping_unit sub_page subpage_size", Key("ftl.map_unit_bytes")),
    (
        "cmt_capacity cmt_size map_cache mapping_cache cmt_entries",
        Keys(
            "here it is 'ftl.map_cache_entries', or 'ftl.map_ram_kib' for all tables, with ftl.map_place = \"cached\"",
        ),
    ),
    ("ideal_mapping_table", Keys("here it is ftl.map_place = \"ram\"")),
    ("plane_allocation_scheme plane_allocation allocation_scheme page_allocation", Key("ftl.allocation_order")),
    (
        "wear_levelling static_wearleveling static_wearleveling_enabled dynamic_wearleveling \
         dynamic_wearleveling_enabled wl",
        Key("ftl.wear_leveling"),
    ),
    ("static_wearleveling_threshold wl_threshold", Key("ftl.wear_threshold")),
    // Host.
    (
        "queue_depth iodepth io_depth qd io_queue_depth average_no_of_reqs_in_queue",
        Keys("here it is 'host.queue_depth', with host.mode = \"closed-loop\""),
    ),
    (
        "numjobs num_jobs threads io_queues queue_count nr_queues",
        Keys("here it is 'host.queues', with host.mode = \"closed-loop\""),
    ),
    (
        "cache_size write_cache data_cache_capacity cache dram_size buffer_size write_buffer cache_mib \
         data_cache",
        Keys("here it is 'host.write_buffer_kib', in KiB (0: none)"),
    ),
    ("pcie_lane_bandwidth pcie_lane_count interface_speed link_speed pcie_bandwidth", Key("host.link_mb_per_s")),
    ("caching_mechanism data_caching_mechanism", Keys("here host.write_buffer_kib = 0 turns the buffer off")),
    // Workload, in fio's words and MQSim's.
    ("bs blockalign io_size_bytes request_size req_size average_request_size iosize", Key("workload.request_bytes")),
    (
        "bssplit bsrange",
        Keys("here they are 'workload.request_sizes' and 'workload.request_weights'; --fio-job takes a job of fio's"),
    ),
    (
        "rw readwrite io_pattern pattern address_distribution access_pattern",
        Keys(
            "here it is 'workload.kind' with 'workload.read_fraction'; --fio-job \"rw=randrw bs=4k\" takes fio's words",
        ),
    ),
    (
        "rwmixread read_ratio read_percentage read_percent rwmixwrite write_ratio",
        Keys("here it is 'workload.read_fraction', a share from 0 to 1"),
    ),
    (
        "rate_iops rate iops bandwidth arrival_rate average_inter_arrival_time",
        Keys("here it is 'workload.mean_interarrival_us' = 10^6 / rate, with host.mode = \"open-loop\""),
    ),
    (
        "number_ios total_requests_to_generate io_count num_requests nr_requests n_requests loops",
        Key("workload.requests"),
    ),
    (
        "size io_size filesize working_set working_set_percentage wss",
        Keys("here it is 'workload.footprint', a share of the user capacity"),
    ),
    (
        "random_distribution distribution theta skew zipf",
        Keys("here it is workload.kind = \"zipf\" with 'workload.zipf_theta'"),
    ),
    ("hot_region percentage_of_hot_region hot_data_ratio", Key("workload.hot_space")),
    ("seed_random randseed random_seed rng_seed rand_seed", Key("seed")),
    (
        "runtime time_based stop_time duration run_time",
        Why("runs end by requests: 'run.max_requests' or 'workload.requests'; or when they know enough: 'run.until'"),
    ),
    ("ramp_time warmup warm_up", Key("run.warmup_requests")),
    (
        "trace trace_file file_path filename read_iolog trace_path",
        Keys("here it is 'workload.path' with workload.kind = \"trace\"; --trace FILE sets both"),
    ),
    ("trims_enabled trim rwmixtrim discard", Key("workload.trim_fraction")),
    ("time_scale timescale replay_time_scale speed_up replay_speed", Key("host.speedup")),
    ("initial_occupancy_percentage initial_occupancy prefill fill occupancy fillratio fill_ratio", Key("initial.fill")),
    (
        "enabled_preconditioning preconditioning precondition warm_up_writes steady_state invalidpageratio \
         invalid_page_ratio fillingmode filling_mode",
        Key("initial.age_writes"),
    ),
    (
        "ioengine direct thread group_reporting verify name iodepth_batch",
        Why("it concerns the host's operating system, which is not simulated"),
    ),
    ("read_reordering scheduling_policy transaction_scheduling_policy priority", Key("host.read_priority")),
    (
        "multiplane multiplane_allowed multi_plane_enabled multiplane_commands command_multi_plane",
        Key("timing.multi_plane"),
    ),
];
