//! matchit, a router in Rust, for RouterBenchmark: it is loaded as a library, so that both are measured in one process.
use matchit::Router;
use std::{slice, str};

/// A table of patterns such as "/users/{id}"; each is ended by a line feed.
#[no_mangle]
pub unsafe extern "C" fn matchit_make(patterns: *const u8, count: usize) -> *mut Router<u32> {
    let text = str::from_utf8(slice::from_raw_parts(patterns, count)).expect("UTF-8");
    let mut router = Router::new();
    for (index, pattern) in text.lines().enumerate() {
        router.insert(pattern, index as u32).expect(pattern);
    }
    Box::into_raw(Box::new(router))
}

/// Looks up `count` paths that lie one behind the other, each up to its end; says how many were found.
#[no_mangle]
pub unsafe extern "C" fn matchit_round(
    router: *const Router<u32>,
    paths: *const u8,
    ends: *const usize,
    count: usize,
) -> usize {
    let router = &*router;
    let ends = slice::from_raw_parts(ends, count + 1);
    let mut found = 0;
    for index in 0..count {
        let path = slice::from_raw_parts(paths.add(ends[index]), ends[index + 1] - ends[index]);
        if let Ok(hit) = router.at(str::from_utf8_unchecked(path)) {
            found += (hit.params.len() < 16 && *hit.value != u32::MAX) as usize;
        }
    }
    found
}
