//! Zipf, hot and cold, mixed sizes, bursts, and jobs in fio's words.

use pumice_types::{Choice, HostRequest, RequestKind};
use pumice_workload::{
    AccessPattern, AddressPolicy, Arrival, ArrivalKind, FioJob, HotColdAccess, HotWrites, PermutationAccess, Placement,
    RequestSizes, SequentialAccess, SyntheticOptions, TraceError, UniformAccess, Workload, ZipfAccess, synthetic,
};
use sha2::{Digest, Sha256};

const PAGE: u64 = 4_096;

fn device(pages: u64) -> Placement {
    Placement { capacity_bytes: pages * PAGE, page_bytes: PAGE as u32, policy: AddressPolicy::Exact }
}

fn options() -> SyntheticOptions {
    SyntheticOptions {
        requests: 200_000,
        sizes: RequestSizes::one(4_096),
        access: UniformAccess.into(),
        read_fraction: 0.3,
        trim_fraction: 0.0,
        flush_every: None,
        fua_fraction: 0.0,
        footprint: 1.0,
        arrival: Arrival::even(ArrivalKind::Fixed, 1.0),
        seed: 1,
    }
}

fn all(workload: Result<Workload, TraceError>) -> Vec<HostRequest> {
    let mut workload = workload.expect("legal options");
    std::iter::from_fn(|| workload.next_request().expect("never fails")).collect()
}

fn hits(requests: &[HostRequest], slots: u64) -> Vec<u32> {
    let mut hits = vec![0; slots as usize];
    requests.iter().for_each(|request| hits[(request.offset_bytes / PAGE) as usize] += 1);
    hits
}

#[test]
fn w251_zipf_has_its_heat_and_spreads_it() {
    let requests =
        all(synthetic(&SyntheticOptions { access: ZipfAccess { theta: 1.0 }.into(), ..options() }, &device(10_000)));
    let hits = hits(&requests, 10_000);
    let mut sorted: Vec<(u32, usize)> = hits.iter().enumerate().map(|(slot, &count)| (count, slot)).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    // Weights 1/k over the harmonic number of 10,000; 5 % is more than five standard errors.
    let harmonic: f64 = (1..=10_000).map(|k| 1.0 / f64::from(k)).sum();
    for k in [1usize, 2, 5, 10] {
        let share = f64::from(sorted[k - 1].0) / 2e5;
        assert!((share * harmonic * k as f64 - 1.0).abs() < 0.06, "rank {k}: {share}");
    }
    let hot: Vec<usize> = sorted[..100].iter().map(|&(_, slot)| slot).collect();
    let lower = hot.iter().filter(|&&slot| slot < 5_000).count();
    assert!((25..=75).contains(&lower), "{lower} of the 100 hottest in the lower half");
    let neighbours = hot.iter().filter(|&&slot| hot.contains(&(slot + 1))).count();
    assert!(neighbours < 10, "{neighbours}");
}

#[test]
fn w252_hot_and_cold_have_their_shares() {
    let access = AccessPattern::from(HotColdAccess { hot_space: 0.1, hot_share: 0.9 });
    let hits = hits(&all(synthetic(&SyntheticOptions { access, ..options() }, &device(1_000))), 1_000);
    // 1,800 a hot slot (standard deviation 42), 22 a cold one (4.7).
    let hot: Vec<usize> = (0..1_000).filter(|&slot| hits[slot] > 500).collect();
    assert_eq!(hot.len(), 100);
    assert!(hot.iter().all(|&slot| (1_590..2_010).contains(&hits[slot])));
    assert!(hits.iter().filter(|&&count| count <= 500).all(|&count| count < 60));
    assert!((25..=75).contains(&hot.iter().filter(|&&slot| slot < 500).count()));
    let share = hot.iter().map(|&slot| f64::from(hits[slot])).sum::<f64>() / 2e5;
    assert!((share - 0.9).abs() < 0.004, "{share}");
}

#[test]
fn w253_mixed_sizes_keep_their_weights_and_stay_inside() {
    let sizes = RequestSizes::mixed(&[(4_096, 3.0), (16_384, 1.0), (100_000, 1.0)]).expect("legal");
    for access in [AccessPattern::from(UniformAccess), SequentialAccess.into(), ZipfAccess { theta: 0.8 }.into()] {
        let requests = all(synthetic(&SyntheticOptions { sizes: sizes.clone(), access, ..options() }, &device(64)));
        assert!(requests.iter().all(|r| r.offset_bytes % PAGE == 0));
        assert!(requests.iter().all(|r| r.offset_bytes + u64::from(r.bytes) <= 64 * PAGE), "{access:?}");
        for (bytes, share) in [(4_096, 0.6), (16_384, 0.2), (100_000, 0.2)] {
            let found = requests.iter().filter(|r| r.bytes == bytes).count() as f64 / 2e5;
            assert!((found - share).abs() < 0.006, "{access:?}, {bytes}: {found}");
        }
        if access == SequentialAccess.into() {
            let next = |r: &HostRequest| r.offset_bytes + u64::from(r.bytes).next_multiple_of(PAGE);
            let goes_on = |pair: &[HostRequest]| pair[1].offset_bytes == next(&pair[0]) || pair[1].offset_bytes == 0;
            assert!(requests.windows(2).all(goes_on));
        }
    }
}

#[test]
fn w254_bursts_have_their_mean_and_variation() {
    let arrival = Arrival { kind: ArrivalKind::Bursty, mean_us: 100.0, cv: 3.0 };
    let requests = all(synthetic(&SyntheticOptions { arrival, ..options() }, &device(64)));
    let gaps: Vec<f64> = requests.windows(2).map(|p| (p[1].arrival.0 - p[0].arrival.0) as f64 / 1e3).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 100.0 - 1.0).abs() < 5.0 * 3.0 / 2e5f64.sqrt(), "{mean}");
    assert!((variance.sqrt() / mean / 3.0 - 1.0).abs() < 0.05, "{}", variance.sqrt() / mean);
}

#[test]
fn w255_impossible_options_are_refused() {
    let sizes = |list: &[(u32, f64)]| RequestSizes::mixed(list).expect_err("impossible").to_string();
    assert!(sizes(&[]).contains("0 request sizes found"));
    assert!(sizes(&[(0, 1.0)]).contains("request_bytes = 0"));
    assert!(sizes(&[(512, f64::NAN)]).contains("weight NaN"));
    for (options, part) in [
        (SyntheticOptions { trim_fraction: 0.8, ..options() }, "trim_fraction = 0.8 beside read_fraction = 0.3"),
        (SyntheticOptions { trim_fraction: -0.1, ..options() }, "trim_fraction = -0.1"),
        (SyntheticOptions { access: ZipfAccess { theta: -0.1 }.into(), ..options() }, "zipf_theta = -0.1 found"),
        (SyntheticOptions { access: ZipfAccess { theta: f64::NAN }.into(), ..options() }, "zipf_theta = NaN"),
        (
            SyntheticOptions { access: HotColdAccess { hot_space: 1.0, hot_share: 0.5 }.into(), ..options() },
            "hot_space = 1",
        ),
        (
            SyntheticOptions { access: HotColdAccess { hot_space: 0.1, hot_share: 1.5 }.into(), ..options() },
            "hot_share = 1.5",
        ),
        (
            SyntheticOptions { arrival: Arrival { kind: ArrivalKind::Bursty, mean_us: 1.0, cv: 0.5 }, ..options() },
            "variation 0.5",
        ),
        (SyntheticOptions { sizes: RequestSizes::one(0), ..options() }, "request_bytes = 0"),
        (SyntheticOptions { sizes: RequestSizes::one(1 << 20), ..options() }, "a footprint of 262144 bytes found"),
    ] {
        let message = synthetic(&options, &device(64)).expect_err(part).to_string();
        assert!(message.contains(part) && message.contains("allowed are"), "{message}");
    }
}

#[test]
fn w256_jobs_in_fios_words() {
    for (job, access, [reads, trims], bytes) in [
        ("", AccessPattern::from(SequentialAccess), [1.0, 0.0], 4_096),
        ("rw=randwrite\nbs=16k", PermutationAccess.into(), [0.0, 0.0], 16_384),
        ("rw=randwrite\nbs=16k\nnorandommap", UniformAccess.into(), [0.0, 0.0], 16_384),
        ("--rw=randwrite --bs=16k --norandommap=1", UniformAccess.into(), [0.0, 0.0], 16_384),
        ("rw=randwrite norandommap=0 bs=16k", PermutationAccess.into(), [0.0, 0.0], 16_384),
        ("rw=write norandommap bs=16k", SequentialAccess.into(), [0.0, 0.0], 16_384),
        ("rw=randtrim bs=16k", PermutationAccess.into(), [0.0, 1.0], 16_384),
        ("--rw=randrw --bs=8k --rwmixread=30 --direct=1", PermutationAccess.into(), [0.3, 0.0], 8_192),
        (
            "[global]\n[job]\n# mixed\nreadwrite=randrw\nrwmixread=70\nbs=1M",
            PermutationAccess.into(),
            [0.7, 0.0],
            1 << 20,
        ),
        ("rw=rw\nblocksize=512", SequentialAccess.into(), [0.5, 0.0], 512),
        ("rw=randrw\nrwmixwrite=90\nrandom_distribution=random", PermutationAccess.into(), [0.1, 0.0], 4_096),
        ("rw = randread\nrandom_distribution = zipf:1.2", ZipfAccess { theta: 1.2 }.into(), [1.0, 0.0], 4_096),
        ("rw=write\nrwmixread=70\nrandom_distribution=zipf:1.2", SequentialAccess.into(), [0.0, 0.0], 4_096),
    ] {
        let [found] = &FioJob::parse(job).expect(job)[..] else { panic!("{job} is one job") };
        assert_eq!((found.access, [found.read_fraction, found.trim_fraction]), (access, [reads, trims]), "{job}");
        assert_eq!(found.sizes, RequestSizes::one(bytes), "{job}");
        assert_eq!((found.requests, found.seed, found.iodepth, found.rate), (None, None, None, None));
    }
}

#[test]
fn w264_what_a_job_in_fios_words_says_besides_and_what_is_refused() {
    let one = |job: &str| FioJob::parse(job).expect("legal").swap_remove(0);
    let split = one("bssplit=4k/60:64k/40\nnumber_ios=7\nrandseed=9 iodepth=8\nsize=50%");
    assert_eq!((split.sizes.list(), split.requests), (&[(4_096, 60.0), (65_536, 40.0)][..], Some(7)));
    assert_eq!((split.seed, split.iodepth, split.footprint), (Some(9), Some(8), Some(0.5)));
    let rate = one("rate_iops=500 rate_process=poisson");
    assert_eq!(rate.rate, Some((500.0, ArrivalKind::Poisson)));
    for (job, part) in [
        ("rw=trimwrite", "rw = \"trimwrite\" found; allowed are read, write, trim, rw, readwrite"),
        ("rw=randreadwrite", "rw = \"randreadwrite\" found"),
        ("bs=4k,8k", "bs = \"4k,8k\" found"),
        ("bs=0", "bs = \"0\" found"),
        ("bs=4096g", "bs = \"4096g\" found"),
        ("rwmixread=101", "rwmixread = \"101\" found; allowed are whole numbers from 0 to 100"),
        ("bssplit=4k", "bssplit = \"4k\" found"),
        ("random_distribution=pareto:0.9", "random_distribution = \"pareto:0.9\" found"),
        ("iodepth=0", "iodepth = \"0\" found"),
        ("size=1g", "size = \"1g\" found; allowed are percentages"),
        ("[a]\nrw=read\n[global]\nrw=write", "[global] behind a job found"),
        ("numjobs=65", "numjobs = \"65\" found; allowed are whole numbers from 1 to 64"),
        ("bssplit=4k/50:8k/60", "bssplit = \"4k/50:8k/60\" found; allowed are shares of 100 percent together"),
        ("runtime=4", "key \"runtime\" of an fio job found; a run ends by number_ios; allowed are rw (readwrite), bs"),
        ("iodepht=4", "key \"iodepht\" of an fio job found; nearest: iodepth; allowed are"),
        ("verify=crc32c", "key \"verify\" of an fio job found; allowed are"),
        ("norandommap=yes", "norandommap = \"yes\" found; allowed are 0, 1, and the key alone"),
    ] {
        let message = FioJob::parse(job).expect_err(job).to_string();
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn w259_trims_are_a_share_of_the_requests_and_move_nothing_else() {
    let with = |trim_fraction| all(synthetic(&SyntheticOptions { trim_fraction, ..options() }, &device(64)));
    let (without, some) = (with(0.0), with(0.2));
    let trims = some.iter().filter(|r| r.kind == RequestKind::Trim).count() as f64 / some.len() as f64;
    // Five standard errors of 200,000 draws.
    assert!((trims - 0.2).abs() < 0.0045, "{trims}");
    for (plain, mixed) in without.iter().zip(&some) {
        assert_eq!((plain.offset_bytes, plain.arrival, plain.bytes), (mixed.offset_bytes, mixed.arrival, mixed.bytes));
        assert_eq!(plain.kind == RequestKind::Read, mixed.kind == RequestKind::Read);
    }
}

#[test]
fn w257_a_thousand_million_slots() {
    let access = AccessPattern::from(ZipfAccess { theta: 0.99 });
    let requests = all(synthetic(&SyntheticOptions { access, ..options() }, &device(1_000_000_000)));
    let half = requests.iter().filter(|r| r.offset_bytes < 500_000_000 * PAGE).count() as f64 / 2e5;
    assert!((half - 0.5).abs() < 0.1, "{half}");
}

/// Changes only when what a generator is changes, on every machine alike.
#[test]
fn w258_golden_digest() {
    let mut hash = Sha256::new();
    for access in
        [AccessPattern::from(ZipfAccess { theta: 0.99 }), HotColdAccess { hot_space: 0.2, hot_share: 0.8 }.into()]
    {
        let sizes = RequestSizes::mixed(&[(4_096, 1.0), (8_192, 2.0)]).expect("legal");
        let arrival = Arrival { kind: ArrivalKind::Bursty, mean_us: 50.0, cv: 5.0 };
        for request in
            all(synthetic(&SyntheticOptions { requests: 10_000, access, sizes, arrival, ..options() }, &device(5_000)))
        {
            hash.update(request.arrival.0.to_le_bytes());
            hash.update(request.offset_bytes.to_le_bytes());
            hash.update(request.bytes.to_le_bytes());
            hash.update([u8::from(request.kind == RequestKind::Write)]);
        }
    }
    let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "6a197f64551e4b68");
}

#[test]
fn w260_w10_to_w40_send_the_stated_shares_to_the_stated_spaces() {
    for &hot_writes in HotWrites::ALL {
        let (percent, access) = (hot_writes.percent(), hot_writes.pattern().into());
        let hot_slots = 100 * percent as usize;
        let mut hits = hits(&all(synthetic(&SyntheticOptions { access, ..options() }, &device(10_000))), 10_000);
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = hits[..hot_slots].iter().sum();
        let share = f64::from(hot) / 2e5;
        let stated = f64::from(100 - percent) / 100.0;
        // Under w40 the busiest cold slots stand above the least busy hot ones; that moves the share up.
        assert!(share > stated - 0.005 && share < stated + 0.06, "{hot_writes}: {share} of the requests");
    }
}
