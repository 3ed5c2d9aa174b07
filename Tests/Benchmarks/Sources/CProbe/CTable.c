#include "CProbe.h"
#include <stdlib.h>
#include <string.h>

typedef struct { uint32_t placeholder, end; } node;
typedef struct { uint64_t hash; const uint8_t *text; uint32_t parent, child, length; } edge;
typedef struct text { struct text *next; uint8_t bytes[]; } text;
struct probe_table { node *nodes; edge *edges; text *texts; uint32_t node_count, node_room, edge_count, mask; };

static uint64_t hash_of(uint32_t parent, const uint8_t *text, size_t count) {
    uint64_t hash = 0xcbf29ce484222325u ^ (parent * 0x9e3779b97f4a7c15u);
    for (size_t index = 0; index < count; index++) hash = (hash ^ text[index]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static edge *place(const probe_table *table, uint64_t hash, uint32_t parent, const uint8_t *text, size_t count) {
    for (uint32_t at = (uint32_t)hash & table->mask;; at = (at + 1) & table->mask) {
        edge *found = &table->edges[at];
        if (!found->text) return found;
        if (found->hash == hash && found->parent == parent && found->length == count &&
            memcmp(found->text, text, count) == 0)
            return found;
    }
}

static uint32_t make_node(probe_table *table) {
    if (table->node_count == table->node_room) {
        table->node_room *= 2;
        table->nodes = realloc(table->nodes, table->node_room * sizeof(node));
    }
    table->nodes[table->node_count] = (node){0, 0};
    return table->node_count++;
}

probe_table *probe_table_make(void) {
    probe_table *table = calloc(1, sizeof *table);
    table->node_room = 64;
    table->nodes = calloc(table->node_room, sizeof(node));
    table->node_count = 2;
    table->mask = 127;
    table->edges = calloc(table->mask + 1, sizeof(edge));
    return table;
}

void probe_table_free(probe_table *table) {
    free(table->nodes);
    free(table->edges);
    while (table->texts) {
        text *next = table->texts->next;
        free(table->texts);
        table->texts = next;
    }
    free(table);
}

static void grow(probe_table *table) {
    edge *old = table->edges;
    uint32_t count = table->mask + 1;
    table->mask = count * 2 - 1;
    table->edges = calloc(count * 2, sizeof(edge));
    for (uint32_t index = 0; index < count; index++)
        if (old[index].text)
            *place(table, old[index].hash, old[index].parent, old[index].text, old[index].length) = old[index];
    free(old);
}

void probe_table_add(probe_table *table, const uint8_t *given, size_t count, uint32_t index) {
    text *copy = malloc(sizeof(text) + count);
    copy->next = table->texts;
    table->texts = copy;
    const uint8_t *pattern = memcpy(copy->bytes, given, count);
    uint32_t at = 1;
    for (size_t start = 0; start < count;) {
        size_t end = start;
        while (end < count && pattern[end] != '/') end++;
        if (end > start && pattern[start] == ':') {
            if (!table->nodes[at].placeholder) {
                uint32_t child = make_node(table);
                table->nodes[at].placeholder = child;
            }
            at = table->nodes[at].placeholder;
        } else if (end > start) {
            if (table->edge_count * 2 > table->mask) grow(table);
            uint64_t hash = hash_of(at, pattern + start, end - start);
            edge *found = place(table, hash, at, pattern + start, end - start);
            if (!found->text) {
                *found = (edge){hash, pattern + start, at, make_node(table), (uint32_t)(end - start)};
                table->edge_count++;
            }
            at = found->child;
        }
        start = end + 1;
    }
    table->nodes[at].end = index + 1;
}

static uint32_t find(const probe_table *table, uint32_t at, const uint8_t *path, size_t start, size_t count,
                     uint32_t *spans, uint32_t captured) {
    while (start < count && path[start] == '/') start++;
    if (start >= count) return table->nodes[at].end;
    size_t end = start;
    while (end < count && path[end] != '/') end++;
    const edge *known = place(table, hash_of(at, path + start, end - start), at, path + start, end - start);
    if (known->text) {
        uint32_t found = find(table, known->child, path, end, count, spans, captured);
        if (found) return found;
    }
    if (!table->nodes[at].placeholder) return 0;
    if (captured < 8) {
        spans[captured * 2] = (uint32_t)start;
        spans[captured * 2 + 1] = (uint32_t)(end - start);
    }
    return find(table, table->nodes[at].placeholder, path, end, count, spans, captured + 1);
}

uint32_t probe_table_find(const probe_table *table, const uint8_t *path, size_t count, uint32_t spans[16]) {
    return find(table, 1, path, 0, count, spans, 0);
}
