import WaypostMessages

/// Topics of messages, to an agent and from one.
enum TopicLaws: Laws {
    static func read(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        _ = Topics.standard.inbound(text)
        _ = Topics.standard.outbound(text)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let text = String(decoding: bytes, as: UTF8.self)
        try check(text, .standard)
        guard let topics = Topics(root: text) else { return }
        try check(topics.command(to: .all, from: "ops"), topics)
        try BrokenLaw.unless(
            topics.sender(ofCommandOn: topics.command(to: .agent("k1"), from: "ops")) == "ops",
            "a topic under any root is read as it was written")
    }

    private static func check(_ text: String, _ topics: Topics) throws(BrokenLaw) {
        if let inbound = topics.inbound(text) {
            let audience = inbound.audience
            let written =
                switch inbound {
                case .command(_, let sender): topics.command(to: audience, from: sender)
                case .map: topics.map(of: audience)
                case .patch(let agent): topics.patch(of: agent)
                case .echo(let agent): topics.echo(of: agent)
                case .groups(let agent): topics.groups(of: agent)
                case .candidate(let group): topics.candidate(of: group)
                case .rollout(let group): topics.rollout(of: group)
                }
            try BrokenLaw.unless(written.utf8.elementsEqual(text.utf8), "a topic is read as it was written")
        }
        if let (group, topic) = topics.rollout(text) {
            let written =
                switch topic {
                case .control: topics.rollout(of: group)
                case .lease: topics.lease(of: group)
                case .audit(let slot): topics.audit(of: group, slot: slot)
                }
            try BrokenLaw.unless(written.utf8.elementsEqual(text.utf8), "a topic is read as it was written")
        }
        guard let (agent, content) = topics.outbound(text) else { return }
        let written: String? =
            switch content {
            case .reply(let sender): topics.reply(of: agent, to: sender)
            case .applied: topics.applied(of: agent)
            // Its letter may be written large.
            case .log: nil
            case .failure: topics.failures(of: agent)
            case .state: topics.state(of: agent)
            case .health: topics.health(of: agent)
            case .routes: topics.routes(of: agent)
            case .contract: topics.contract(of: agent)
            case .navigation: topics.navigation(of: agent)
            }
        try BrokenLaw.unless(
            written.map { $0.utf8.elementsEqual(text.utf8) } ?? true, "a topic is read as it was written")
        try BrokenLaw.unless(Name.isValid(agent), "an agent has a name")
    }
}
