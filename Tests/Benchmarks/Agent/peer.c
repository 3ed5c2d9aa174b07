// The honest peer: the durable agent that a good C programmer writes in a day. libmosquitto (external loop), jansson, SQLite (WAL, FULL).
// Per `call` of CalculatorService.add: RECEIVED, STARTED, RESULT, DONE rows in group commits; PUBACK after RECEIVED; a reply and one log event.
// usage: peer HOST PORT STATE.db full|off
#ifndef AGENT
#define AGENT "k1"
#endif
#include <mosquitto.h>
#include <jansson.h>
#include <sqlite3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
struct cmd { char topic[128], from[65], id[65]; char *payload; int len; long long result; int ok; int mid; };
static struct cmd batch[4096]; static int nbatch;
static int durable; static sqlite3 *db; static sqlite3_stmt *ins, *upd, *fin, *del; static struct mosquitto *m;
static long long seq; static int acked[65536], nacked; static char idof[65536][65];
static void on_message(struct mosquitto *x, void *u, const struct mosquitto_message *g) {
    (void)x; (void)u; if (nbatch == 4096 || g->retain) return;
    struct cmd *c = &batch[nbatch++]; snprintf(c->topic, sizeof c->topic, "%s", g->topic);
    c->payload = malloc(g->payloadlen + 1); memcpy(c->payload, g->payload, g->payloadlen); c->payload[c->len = g->payloadlen] = 0;
    const char *f = strrchr(g->topic, '/'); snprintf(c->from, sizeof c->from, "%s", f ? f + 1 : "");
}
static void on_publish(struct mosquitto *x, void *u, int mid) { (void)x; (void)u; if (idof[mid & 65535][0]) acked[nacked++ & 65535] = mid; }
static void on_connect(struct mosquitto *x, void *u, int rc) { (void)u; if (!rc) mosquitto_subscribe(x, 0, "waypost/v1/" AGENT "/cmd/+", 1); }
static void on_suback(struct mosquitto *x, void *u, int mid, int n, const int *q) { (void)x;(void)u;(void)mid;(void)n;(void)q; puts("ready"); fflush(stdout); }
static void step(sqlite3_stmt *s) { sqlite3_step(s); sqlite3_reset(s); }
static void tx(const char *q) { if (durable) sqlite3_exec(db, q, 0, 0, 0); }
static long long ms(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return t.tv_sec * 1000LL + t.tv_nsec / 1000000; }
static void run(void) {                     // one group: parse, store RECEIVED, (acks leave by the caller), STARTED, run, RESULT, publish
    tx("BEGIN IMMEDIATE");
    for (int i = 0; i < nbatch; i++) {
        struct cmd *c = &batch[i]; json_error_t e; json_t *j = json_loadb(c->payload, c->len, JSON_REJECT_DUPLICATES, &e);
        const char *id = j ? json_string_value(json_object_get(j, "id")) : 0; c->ok = 0; c->id[0] = 0;
        if (id) { snprintf(c->id, sizeof c->id, "%s", id); json_t *a = json_object_get(j, "args");
            const char *s = json_string_value(json_object_get(j, "service"));
            if (s && !strcmp(s, "CalculatorService") && json_array_size(a) == 2) c->ok = !__builtin_saddll_overflow(json_integer_value(json_array_get(a, 0)), json_integer_value(json_array_get(a, 1)), &c->result); }
        if (durable) { sqlite3_bind_text(ins, 1, c->topic, -1, SQLITE_STATIC); sqlite3_bind_text(ins, 2, c->id, -1, SQLITE_STATIC); sqlite3_bind_blob(ins, 3, c->payload, c->len, SQLITE_STATIC); step(ins); }
        json_decref(j);
    }
    tx("COMMIT");
    while (mosquitto_want_write(m)) mosquitto_loop_write(m, 1);   // the PUBACKs
    tx("BEGIN IMMEDIATE");
    if (durable) for (int i = 0; i < nbatch; i++) { sqlite3_bind_text(upd, 1, batch[i].topic, -1, SQLITE_STATIC); sqlite3_bind_text(upd, 2, batch[i].id, -1, SQLITE_STATIC); step(upd); }
    tx("COMMIT"); tx("BEGIN IMMEDIATE");
    static char rep[4096][512], ev[4096][512];
    for (int i = 0; i < nbatch; i++) {
        struct cmd *c = &batch[i];
        json_t *r = json_pack("{s:s,s:s,s:s,s:i,s:s,s:I,s:i,s:i,s:b,s:I}", "id", c->id, "type", "reply", "status", c->ok ? "ok" : "failed", "code", c->ok ? 0 : 500, "name", c->ok ? "OK" : "HANDLER_FAILED", "result", c->result, "ms", 0, "attempt", 1, "dup", 0, "at", ms());
        size_t n = json_dumpb(r, rep[i], 511, JSON_COMPACT); rep[i][n < 511 ? n : 511] = 0; json_decref(r);
        json_t *v = json_pack("{s:I,s:s,s:s,s:s,s:I,s:i,s:i,s:s,s:i,s:s}", "t", ms(), "l", "I", "tag", "Service", "boot", "b1", "seq", ++seq, "pid", 1, "tid", 1, "msg", "returned CalculatorService.add", "type", 0, "ref", c->id);
        n = json_dumpb(v, ev[i], 511, JSON_COMPACT); ev[i][n < 511 ? n : 511] = 0; json_decref(v);
        if (durable) { sqlite3_bind_text(fin, 1, rep[i], -1, SQLITE_STATIC); sqlite3_bind_text(fin, 2, c->topic, -1, SQLITE_STATIC); sqlite3_bind_text(fin, 3, c->id, -1, SQLITE_STATIC); step(fin); }
    }
    tx("COMMIT");
    for (int i = 0; i < nbatch; i++) {
        char t[160]; snprintf(t, sizeof t, "waypost/v1/" AGENT "/reply/%s", batch[i].from); int mid = 0;
        mosquitto_publish(m, &mid, t, strlen(rep[i]), rep[i], 1, 0); snprintf(idof[mid & 65535], 65, "%s", batch[i].id);
        mosquitto_publish(m, 0, "waypost/v1/" AGENT "/log/i", strlen(ev[i]), ev[i], 0, 0); free(batch[i].payload);
    }
    nbatch = 0;
}
int main(int c, char **v) {
    if (c < 5) return 64;
    durable = !strcmp(v[4], "full");
    if (durable) { unlink(v[3]); sqlite3_open(v[3], &db); sqlite3_exec(db, "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;CREATE TABLE inbox(topic TEXT,id TEXT,payload BLOB,state INT,reply TEXT,PRIMARY KEY(topic,id)) WITHOUT ROWID", 0, 0, 0);
        sqlite3_prepare_v2(db, "INSERT OR IGNORE INTO inbox VALUES(?,?,?,0,NULL)", -1, &ins, 0); sqlite3_prepare_v2(db, "UPDATE inbox SET state=1 WHERE topic=? AND id=?", -1, &upd, 0);
        sqlite3_prepare_v2(db, "UPDATE inbox SET state=2,reply=? WHERE topic=? AND id=?", -1, &fin, 0); sqlite3_prepare_v2(db, "UPDATE inbox SET state=3 WHERE topic='waypost/v1/" AGENT "/cmd/bench' AND id=?", -1, &del, 0); }
    mosquitto_lib_init(); m = mosquitto_new(AGENT, 0, 0); mosquitto_threaded_set(m, 1); mosquitto_int_option(m, MOSQ_OPT_TCP_NODELAY, 1); mosquitto_max_inflight_messages_set(m, 0);
    mosquitto_message_callback_set(m, on_message); mosquitto_publish_callback_set(m, on_publish); mosquitto_connect_callback_set(m, on_connect); mosquitto_subscribe_callback_set(m, on_suback);
    if (mosquitto_connect(m, v[1], atoi(v[2]), 60)) return 1;
    for (;;) {
        struct pollfd p = { mosquitto_socket(m), POLLIN | (mosquitto_want_write(m) ? POLLOUT : 0), 0 };
        poll(&p, 1, 1000);
        do { if (p.revents & (POLLIN | POLLHUP | POLLERR)) if (mosquitto_loop_read(m, 1)) return 1; p.events = POLLIN; p.revents = 0; } while (nbatch < 1000 && poll(&p, 1, 0) > 0);
        if (nbatch) run();
        if (nacked && durable) { tx("BEGIN IMMEDIATE"); for (int i = 0; i < nacked; i++) { sqlite3_bind_text(del, 1, idof[acked[i] & 65535], -1, SQLITE_STATIC); step(del); } tx("COMMIT"); }
        nacked = 0;
        while (mosquitto_want_write(m)) if (mosquitto_loop_write(m, 1)) break;
        mosquitto_loop_misc(m);
    }
}
