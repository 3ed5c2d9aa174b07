#pragma once
#include <stdint.h>

/// Calls to malloc and its kin since the process began.
uint64_t probe_allocation_count(void);

/// Marks for callgrind, which counts between them.
void probe_begin(void);
void probe_end(void);
#include <stddef.h>
/// The least any router must do: find the components of a path and hash each. Never 0.
uint64_t probe_split_and_hash(const uint8_t *path, size_t count);

/// The table a C programmer would write first: one open-addressing hash of (node, component), a placeholder a node.
typedef struct probe_table probe_table;
probe_table *probe_table_make(void);
void probe_table_free(probe_table *table);
/// Adds a pattern such as "/users/:id".
void probe_table_add(probe_table *table, const uint8_t *pattern, size_t count, uint32_t index);
/// The index of the pattern that takes the path, plus one; 0 without one. Where parameters lie goes to `spans`.
uint32_t probe_table_find(const probe_table *table, const uint8_t *path, size_t count, uint32_t spans[16]);
