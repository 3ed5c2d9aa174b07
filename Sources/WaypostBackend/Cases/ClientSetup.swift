package import Waypost

/// The client that asks: what an agent gives its router.
package struct ClientSetup: Hashable {
    package var agent: String?
    package var facts = ClientFacts()
    /// The time, in milliseconds since 1970; nil is the time at which it is asked.
    package var at: Int64?

    /// A client by its parts.
    package init(agent: String? = nil, facts: ClientFacts = ClientFacts(), at: Int64? = nil) {
        self.agent = agent
        self.facts = facts
        self.at = at
    }

    /// The context that an agent with these settings has.
    package var context: RelocationContext {
        var context = RelocationContext(
            agent: agent, build: facts.build, locale: facts.locale, labels: facts.labels)
        if let at { context.now = { at } }
        return context
    }
}
