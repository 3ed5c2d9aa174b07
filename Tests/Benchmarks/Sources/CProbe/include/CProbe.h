#pragma once
#include <stdint.h>

/// Calls to malloc and its kin since the process began.
uint64_t probe_allocation_count(void);
/// Bytes that malloc has handed out and not got back.
uint64_t probe_bytes_in_use(void);
#include <stddef.h>
/// The least any router must do: find the components of a path and hash each. Never 0.
uint64_t probe_split_and_hash(const uint8_t *path, size_t count);
