#pragma once

#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast, which Swift does not import: SQLite copies the bytes before these return. What is empty
// needs an address too, or it would be NULL.
static inline int waypost_bind_text(sqlite3_stmt *statement, int place, const void *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, place, count == 0 ? "" : text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline int waypost_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, place, count == 0 ? "" : bytes, count, SQLITE_TRANSIENT);
}
static inline void waypost_result_text(sqlite3_context *context, const char *text, sqlite3_uint64 count) {
    sqlite3_result_text64(context, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}
static inline void waypost_result_blob(sqlite3_context *context, const void *bytes, sqlite3_uint64 count) {
    sqlite3_result_blob64(context, bytes, count, SQLITE_TRANSIENT);
}

// Functions with any number of arguments, which Swift does not import.
static inline int waypost_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
static inline int waypost_keep_log_when_closed(sqlite3 *database, int is_kept) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_kept, (int *)0);
}
