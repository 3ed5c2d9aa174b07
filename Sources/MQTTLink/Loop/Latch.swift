import Threading

/// Opens once; who comes later passes through.
final class Latch: Sendable {
    private struct Content {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let content = Guarded(Content())

    func open() {
        let waiters = content.withLock { content in
            content.isOpen = true
            defer { content.waiters = [] }
            return content.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func opened() async {
        await withCheckedContinuation { continuation in
            let isOpen = content.withLock { content in
                if !content.isOpen { content.waiters.append(continuation) }
                return content.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
