//! The shortest sequence that still fails (delta debugging: Zeller and Hildebrandt, 2002).

/// Takes requests away as long as what is left fails. `fails` tells whether a sequence does. The result fails, and
/// would not without any single one of its requests, unless `tries` ran out.
pub fn shortest<T: Clone>(sequence: &[T], tries: usize, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut left = sequence.to_vec();
    let mut tried = 0;
    let mut chunk = left.len().div_ceil(2);
    while chunk > 0 && tried < tries {
        let (mut start, before) = (0, left.len());
        while start < left.len() && tried < tries {
            let end = (start + chunk).min(left.len());
            let without = [&left[..start], &left[end..]].concat();
            tried += 1;
            if fails(&without) {
                left = without;
            } else {
                start = end;
            }
        }
        if chunk > 1 {
            chunk = chunk.div_ceil(2).min(left.len().max(1));
        } else if left.len() == before {
            chunk = 0;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    fn t325_what_is_left_is_what_the_failure_needs() {
        let numbers: Vec<u32> = (0..500).collect();
        let needs = |wanted: &'static [u32]| move |left: &[u32]| wanted.iter().all(|number| left.contains(number));
        for wanted in [&[3][..], &[0, 499], &[17, 18, 400], &[]] {
            assert_eq!(shortest(&numbers, 10_000, needs(wanted)), wanted);
        }
        assert_eq!(shortest(&numbers, 0, |_| true), numbers, "no tries");
    }

    #[test]
    fn t326_requests_that_only_fail_together_stay() {
        let pairs: Vec<u32> = (0..64).collect();
        let is_sum = |left: &[u32]| left.iter().sum::<u32>() >= 120;
        let left = shortest(&pairs, 10_000, is_sum);
        assert!(is_sum(&left) && left.iter().all(|number| left.iter().sum::<u32>() - number < 120), "{left:?}");
    }
}
