import Glibc
import Threading

/// Answers short requests on one listening socket, from a thread of its own.
///
/// A client that sends or reads slowly holds nothing up: every exchange has a deadline as a whole, its request has a
/// limit in bytes, and when all places are taken, the one that has not finished its request for longest is closed.
struct SmallServer: Sendable {
    /// Decides over a request as far as it has come: the answer, or nil to read on.
    typealias Answer = @Sendable (_ request: [UInt8]) -> [UInt8]?

    struct Limits: Sendable {
        /// Exchanges at one time.
        var exchanges = 32
        /// How long an exchange may take, from the connection to the last byte of the answer, in milliseconds.
        var milliseconds: Int64 = 5_000
        /// The longest request, in bytes.
        var requestBytes = 8_192
    }

    private struct Exchange {
        let descriptor: Int32
        let deadline: Int64
        var request: [UInt8] = []
        var answer: ArraySlice<UInt8>?
    }

    private let listener: Int32
    private let limits: Limits
    private let stopped = WakeUp()

    /// - Parameter listener: a socket that listens and does not block; it is closed at the end.
    init(listener: Int32, limits: Limits = Limits()) {
        self.listener = listener
        self.limits = limits
    }

    /// Ends the thread, which answers nobody any more.
    func stop() { stopped.ring() }

    /// Answers until it is stopped.
    ///
    /// - Parameter thread: its thread's name, at most 15 bytes.
    /// - Throws: ``CommandError`` 1 when the system has no thread for it.
    func start(thread: String, _ answer: @escaping Answer) throws(CommandError) {
        let failure = PlainThread.start(name: thread) {
            var exchanges: [Exchange] = []
            while turn(&exchanges, answer) {}
            for descriptor in exchanges.map(\.descriptor) + [listener] { close(descriptor) }
        }
        guard let failure else { return }
        throw CommandError(.failed, "start the thread \(thread): \(String(cString: strerror(failure)))")
    }

    /// Waits and answers; false when it is stopped.
    private func turn(_ exchanges: inout [Exchange], _ answer: Answer) -> Bool {
        let before = Self.now()
        var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        descriptors += exchanges.map { exchange in
            pollfd(
                fd: exchange.descriptor, events: Int16(exchange.answer == nil ? POLLIN : POLLOUT), revents: 0)
        }
        descriptors.append(pollfd(fd: stopped.descriptor, events: Int16(POLLIN), revents: 0))
        let next = exchanges.map(\.deadline).min().map { Int32(clamping: max(0, $0 - before) + 1) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), next) >= 0 else { return true }
        guard descriptors.last?.revents == 0 else { return false }
        let now = Self.now()
        for index in exchanges.indices.reversed() {
            var goesOn = exchanges[index].deadline > now
            if goesOn, descriptors[index + 1].revents != 0 { goesOn = proceed(&exchanges[index], answer) }
            if !goesOn { close(exchanges.remove(at: index).descriptor) }
        }
        if descriptors[0].revents != 0 { accept(into: &exchanges, answer, at: now) }
        return true
    }

    private func accept(into exchanges: inout [Exchange], _ answer: Answer, at now: Int64) {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else {
            // Descriptors may be short for a moment; poll would return at once again.
            if errno != EAGAIN && errno != EINTR && errno != ECONNABORTED {
                CurrentThread.sleep(for: .milliseconds(50))
            }
            return
        }
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        if exchanges.count >= limits.exchanges {
            let longest = exchanges.firstIndex { $0.answer == nil } ?? exchanges.startIndex
            close(exchanges.remove(at: longest).descriptor)
        }
        var exchange = Exchange(descriptor: client, deadline: now + limits.milliseconds)
        if proceed(&exchange, answer) { exchanges.append(exchange) } else { close(client) }
    }

    /// Reads or writes what is possible now; false when the exchange is over.
    private func proceed(_ exchange: inout Exchange, _ answer: Answer) -> Bool {
        if exchange.answer == nil {
            // Asked before anything came too: some answers need no request.
            exchange.answer = answer(exchange.request).map { $0[...] }
            guard exchange.answer != nil || read(&exchange) else { return false }
            exchange.answer = exchange.answer ?? answer(exchange.request).map { $0[...] }
        }
        return exchange.answer == nil ? true : write(&exchange)
    }

    /// Reads what is there; false when the client has left.
    private func read(_ exchange: inout Exchange) -> Bool {
        var buffer = [UInt8](repeating: 0, count: limits.requestBytes - exchange.request.count + 1)
        let count = Glibc.read(exchange.descriptor, &buffer, buffer.count)
        guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
        exchange.request += buffer[..<count]
        return exchange.request.count <= limits.requestBytes
    }

    /// Writes what fits; false when all is written or the client has left.
    private func write(_ exchange: inout Exchange) -> Bool {
        while let rest = exchange.answer, !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(exchange.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
            exchange.answer = rest.dropFirst(count)
        }
        return false
    }

    private static func now() -> Int64 { Int64(MonotonicTime.now / 1_000_000) }
}
