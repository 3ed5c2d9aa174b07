#pragma once

/// Whether a filter matches a topic (MQTT 5.0, 4.7): a broker asks that more often than all else.
int waypost_topic_matches(const char *topic, const char *filter);
