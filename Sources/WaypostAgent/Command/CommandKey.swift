/// What makes a command the same one.
struct CommandKey: Hashable, Sendable {
    let topic: String
    let id: String
    /// The key is looked for several times, and two texts are long to hash.
    private let hash: Int

    init(topic: String, id: String) {
        (self.topic, self.id) = (topic, id)
        var hasher = Hasher()
        hasher.combine(topic)
        hasher.combine(id)
        hash = hasher.finalize()
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
