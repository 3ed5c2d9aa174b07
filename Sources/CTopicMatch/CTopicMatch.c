#include "CTopicMatch.h"

int waypost_topic_matches(const char *topic, const char *filter) {
    if (*topic == '$' && (*filter == '+' || *filter == '#')) return 0;
    while (1) {
        if (filter[0] == '#' && !filter[1]) return 1;
        if (!topic) return 0;
        if (filter[0] == '+' && (filter[1] == '/' || !filter[1])) {
            filter++;
            while (*topic && *topic != '/') topic++;
        } else {
            while (*filter && *filter != '/' && *filter == *topic) filter++, topic++;
        }
        if ((*filter && *filter != '/') || (*topic && *topic != '/')) return 0;
        // Both are at the end of a level, and only # matches where the topic has no other.
        if (!*filter) return !*topic;
        filter++;
        topic = *topic ? topic + 1 : 0;
    }
}
