"""Who lost a command: the judgement of what the recorder saw of it."""

import collections

# The broker acknowledged it, had no acknowledgement of its receiver, and sent it no more. In the one case it sent what came
# later; in the other it sends its receiver nothing at all, which is connected, has its subscription, and owes no
# acknowledgement.
SKIPPED = {
    "command": "the broker acknowledged and never delivered, though it delivered later ones",
    "reply": "the agent answered, with a reply that the broker acknowledged and never delivered, though it did later ones",
}
STUCK = {
    "command": "the broker acknowledged and does not deliver: it sends the agent nothing more",
    "reply": "the agent answered, with a reply that the broker does not deliver: it sends the operator nothing more",
}


def matches(pattern, topic):
    """Whether a filter takes a topic."""
    wanted, levels = pattern.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted, levels = wanted[:-1], levels[:len(wanted) - 1]
    return len(wanted) == len(levels) and all(a in ("+", b) for a, b in zip(wanted, levels))


class Evidence:
    """The lines of a recorder (`tap.py`), by message."""

    def __init__(self, lines):
        self.lines = list(lines)
        self.story = collections.defaultdict(list)
        self.closed = set()
        # Who left a session or a subscription, and who gets the messages of a topic.
        self.gave_up, self.receivers = set(), {}
        # The filters that were granted, by connection.
        self.granted = collections.defaultdict(list)
        # By topic: where in the lines the last message was published that arrived.
        self.last_arrival = {}
        published = {}
        for place, line in enumerate(self.lines):
            if line["event"] == "closed":
                self.closed.add(line["connection"])
                continue
            if line["event"] == "gave up":
                self.gave_up.add(line["client"])
                continue
            if line["event"] == "subscribed":
                self.granted[line["connection"]] += line["filters"]
                continue
            if line["event"] == "sent":
                self.receivers[line["topic"]] = line["client"]
            self.story[line["message"]].append((place, line))
            if line["event"] == "published":
                # The first time: what a node stored of a message and could not acknowledge counts.
                published.setdefault(line["message"], place)
            elif line["event"] == "acknowledged" and line["message"] in published:
                topic = line["topic"]
                self.last_arrival[topic] = max(self.last_arrival.get(topic, 0), published[line["message"]])

    def verdict(self, identifier):
        """What became of a command without a reply."""
        match self.way(f"command {identifier}"):
            case "arrived":
                pass
            case "skipped":
                return SKIPPED["command"]
            case "stuck":
                return STUCK["command"]
            case way:
                return f"the agent has not acknowledged: {way}"
        match self.way(f"reply {identifier}"):
            case "arrived":
                return "the agent answered, and the operator acknowledged the reply without counting it"
            case "skipped":
                return SKIPPED["reply"]
            case "stuck":
                return STUCK["reply"]
            case "never published":
                return "the agent acknowledged and never answered"
            case way:
                return f"the agent answered, and the operator has no reply: {way}"

    def way(self, message):
        """How far a message came."""
        story = self.story.get(message, [])
        events = {line["event"] for _, line in story}
        if "acknowledged" in events:
            return "arrived"
        if "published" not in events:
            return "never published"
        if "stored" not in events:
            return "published, and no node has acknowledged it"
        if any(line["event"] == "sent" and line["connection"] not in self.closed for _, line in story):
            return "sent, and not acknowledged, over a connection that is open"
        topic = story[0][1]["topic"]
        if self.receivers.get(topic) in self.gave_up:
            return "stored, and not delivered; its receiver has left a session or a subscription"
        stored = next(place for place, line in story if line["event"] == "stored")
        if self.last_arrival.get(topic, -1) > stored:
            return "skipped"
        if any(matches(each, topic) for connection, granted in self.granted.items()
               if connection not in self.closed for each in granted):
            return "stuck"
        return "stored, and its receiver is not connected or has no subscription"

    def told(self, identifier, began):
        """The lines about a command, to be read."""
        for message in (f"command {identifier}", f"reply {identifier}"):
            for _, line in self.story.get(message, []):
                open_or_closed = "closed since" if line["connection"] in self.closed else "open"
                yield (f"{line['at'] - began:.3f} s: {message} {line['event']}, {line['client']}, "
                       f"connection {line['connection']} ({open_or_closed})")
