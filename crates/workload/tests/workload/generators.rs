//! Uniform and sequential requests.

use pumice_types::{HostRequest, RequestKind};
use pumice_workload::{
    AddressPolicy, Arrival, ArrivalKind, CacheAccess, PermutationAccess, Placement, RequestSizes, SequentialAccess,
    StreamsAccess, SyntheticOptions, TraceError, UniformAccess, Workload, synthetic,
};

fn options() -> SyntheticOptions {
    SyntheticOptions {
        requests: 100_000,
        sizes: RequestSizes::one(16_384),
        access: UniformAccess.into(),
        read_fraction: 0.3,
        trim_fraction: 0.0,
        flush_every: None,
        fua_fraction: 0.0,
        footprint: 0.5,
        arrival: Arrival::even(ArrivalKind::Poisson, 100.0),
        seed: 1,
    }
}

fn device() -> Placement {
    Placement { capacity_bytes: 1000 * 16_384, page_bytes: 16_384, policy: AddressPolicy::Exact }
}

fn all(workload: Result<Workload, TraceError>) -> Vec<HostRequest> {
    let mut workload = workload.expect("legal options");
    std::iter::from_fn(|| workload.next_request().expect("never fails")).collect()
}

#[test]
fn w170_uniform_requests_cover_their_footprint_evenly() {
    let requests = all(synthetic(&options(), &device()));
    assert_eq!(requests.len(), 100_000);
    let mut hits = vec![0u32; 1000];
    for request in &requests {
        assert_eq!((request.offset_bytes % 16_384, request.bytes), (0, 16_384));
        hits[(request.offset_bytes / 16_384) as usize] += 1;
    }
    assert!(hits[500..].iter().all(|&count| count == 0));
    // 200 expected, standard deviation 14: six of them.
    assert!(hits[..500].iter().all(|&count| (115..285).contains(&count)));
    let reads = requests.iter().filter(|request| request.kind == RequestKind::Read).count() as f64 / 1e5;
    assert!((reads - 0.3).abs() < 0.006, "{reads}");
    let mean_us = requests.last().expect("some").arrival.as_us() / 99_999.0;
    assert!((mean_us - 100.0).abs() < 1.3, "{mean_us}");
}

#[test]
fn w171_sequential_requests_start_again_at_the_first_byte() {
    let arrival = Arrival::even(ArrivalKind::Fixed, 2.0);
    let (sizes, access) = (RequestSizes::one(20_000), SequentialAccess.into());
    let options = SyntheticOptions { requests: 600, sizes, access, arrival, read_fraction: 0.0, ..options() };
    let requests = all(synthetic(&options, &device()));
    for (n, request) in requests.iter().enumerate() {
        // 20,000 bytes take two pages: 250 slots in 500 pages.
        assert_eq!(request.offset_bytes, (n as u64 % 250) * 32_768);
        assert_eq!((request.arrival.0, request.bytes), (n as u64 * 2_000, 20_000));
        assert_eq!(request.kind, RequestKind::Write);
    }
}

#[test]
fn w174_a_permutation_takes_every_address_once_in_each_pass_and_in_another_order() {
    let sizes = RequestSizes::one(32_768);
    let access = PermutationAccess.into();
    let options = SyntheticOptions { requests: 1_000, sizes, access, ..options() };
    let offsets: Vec<u64> = all(synthetic(&options, &device())).iter().map(|request| request.offset_bytes).collect();
    let passes: Vec<&[u64]> = offsets.chunks(250).collect();
    for pass in &passes {
        let mut sorted = pass.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().zip(0..).all(|(&offset, slot): (&u64, u64)| offset == slot * 32_768));
    }
    for (nth, pass) in passes.iter().enumerate() {
        for other in &passes[..nth] {
            // Two random orders of 250 addresses agree in one place on average.
            assert!(pass.iter().zip(*other).filter(|(a, b)| a == b).count() < 10);
        }
    }
}

#[test]
fn w175_a_cache_writes_small_objects_at_random_and_large_ones_in_a_ring() {
    let access = CacheAccess { small_space: 0.2, small_share: 0.8, small_theta: 0.0 }.into();
    let options = SyntheticOptions { access, read_fraction: 0.0, ..options() };
    let requests = all(synthetic(&options, &device()));
    let slot = |request: &HostRequest| request.offset_bytes / 16_384;
    let (small, large): (Vec<&HostRequest>, Vec<&HostRequest>) =
        requests.iter().partition(|request| slot(request) < 100);
    // 80,000 expected, standard deviation 126: five of them.
    assert!((79_370..80_630).contains(&small.len()), "{}", small.len());
    let mut hits = [0u32; 100];
    small.iter().for_each(|request| hits[slot(request) as usize] += 1);
    assert!(hits.iter().all(|&count| (640..960).contains(&count)), "800 expected, standard deviation 28");
    assert!(large.iter().zip(0..).all(|(request, nth): (_, u64)| slot(request) == 100 + nth % 400));
    assert!(small.iter().all(|request| request.stream == 0) && large.iter().all(|request| request.stream == 1));
    for (small_space, stream) in [(0.0, 1), (1.0, 0)] {
        let access = CacheAccess { small_space, small_share: 0.5, small_theta: 0.0 }.into();
        let requests = all(synthetic(&SyntheticOptions { requests: 1_000, access, ..options.clone() }, &device()));
        assert!(requests.iter().all(|request| request.stream == stream), "no space for the others");
    }
}

#[test]
fn w176_streams_have_ranges_and_shares_of_their_own() {
    let of = |space: &[f64], share: &[f64]| SyntheticOptions {
        access: StreamsAccess::new(space, share).into(),
        read_fraction: 0.0,
        ..options()
    };
    let requests = all(synthetic(&of(&[1.0, 3.0, 6.0], &[6.0, 3.0, 1.0]), &device()));
    for (stream, range, share) in [(0, 0..50, 0.6), (1, 50..200, 0.3), (2, 200..500, 0.1)] {
        let of_stream: Vec<u64> = requests
            .iter()
            .filter(|request| request.stream == stream)
            .map(|request| request.offset_bytes / 16_384)
            .collect();
        assert!((of_stream.len() as f64 / 1e5 - share).abs() < 0.01, "{}", of_stream.len());
        assert!(of_stream.iter().all(|slot| range.contains(slot)));
        assert!(range.clone().all(|slot| of_stream.contains(&slot)), "every slot of the range is written");
    }
    for (space, share) in [
        (&[1.0, 1.0][..], &[1.0][..]),
        (&[], &[]),
        (&[1.0; 9], &[1.0; 9]),
        (&[1.0, 1.0], &[0.0, 0.0]),
        (&[1.0, 1e-6], &[1.0, 1.0]),
    ] {
        let message = synthetic(&of(space, share), &device()).expect_err("impossible").to_string();
        assert!(message.contains("allowed") && !message.contains('\n'), "{message}");
    }
}

#[test]
fn w172_impossible_options_are_refused() {
    for options in [
        SyntheticOptions { requests: 0, ..options() },
        SyntheticOptions { sizes: RequestSizes::one(0), ..options() },
        SyntheticOptions { read_fraction: -0.1, ..options() },
        SyntheticOptions { read_fraction: f64::NAN, ..options() },
        SyntheticOptions { footprint: 0.0, ..options() },
        SyntheticOptions { footprint: 1.1, ..options() },
        SyntheticOptions { sizes: RequestSizes::one(1 << 30), ..options() },
        SyntheticOptions { arrival: Arrival::even(ArrivalKind::Fixed, -1.0), ..options() },
    ] {
        let message = synthetic(&options, &device()).expect_err("impossible").to_string();
        assert!(message.contains("found") && !message.contains('\n'), "{message}");
        let sequential = SyntheticOptions { access: SequentialAccess.into(), ..options };
        assert!(synthetic(&sequential, &device()).is_err());
    }
}

#[test]
fn w173_facts_and_progress() {
    let mut workload = synthetic(&SyntheticOptions { requests: 4, ..options() }, &device()).expect("legal");
    assert_eq!((workload.requests_expected(), workload.progress()), (Some(4), Some(0.0)));
    workload.next_request().expect("never fails");
    assert_eq!(workload.progress(), Some(0.25));
    let facts = workload.facts();
    let footprint = facts.iter().find(|(name, _)| *name == "footprint_bytes").expect("stated");
    assert_eq!(footprint.1.to_string(), (500 * 16_384).to_string());
}
