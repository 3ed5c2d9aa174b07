import Glibc
import Threading

/// Answers short requests on one listening socket, from a thread of its own.
///
/// A client that sends or reads slowly holds nothing up: every exchange has a deadline as a whole, its request has a
/// limit in bytes, and when all places are taken, the one that has not finished its request for longest is closed.
struct SmallServer: Sendable {
    /// Decides over a request as far as it has come.
    typealias Answer = @Sendable (_ request: [UInt8]) -> Reaction

    /// What becomes of a request.
    enum Reaction: Sendable {
        /// It is not complete.
        case readOn
        case answer([UInt8])
        /// The work is begun, and hands over the answer, from any thread.
        case later(@Sendable (_ answered: @escaping @Sendable ([UInt8]) -> Void) -> Void)
    }

    struct Limits: Sendable {
        /// Exchanges at one time.
        var exchanges = 32
        /// How long an exchange may take, from the connection to the last byte of the answer, in milliseconds.
        var milliseconds: Int64 = 5_000
        /// The longest request, in bytes.
        var requestBytes = 8_192
        /// How long an answer that comes later is waited for, in milliseconds.
        var answerMilliseconds: Int64 = 3_600_000
    }

    private struct Exchange {
        let descriptor: Int32
        let number: UInt64
        var deadline: Int64
        var request: [UInt8] = []
        /// Whether its answer comes later.
        var isWaiting = false
        var answer: ArraySlice<UInt8>?
    }

    private let listener: Int32
    private let limits: Limits
    private let stopped = WakeUp()
    private let arrivals = Arrivals()

    /// Answers that came later, by the number of their exchange.
    private final class Arrivals: Sendable {
        private let answers = Guarded<[UInt64: [UInt8]]>([:])
        private let wakeUp = WakeUp()

        var descriptor: Int32 { wakeUp.descriptor }

        func add(_ answer: [UInt8], to number: UInt64) {
            answers.withLock { $0[number] = answer }
            wakeUp.ring()
        }

        func takeAll() -> [UInt64: [UInt8]] {
            wakeUp.quiet()
            return answers.withLock { answers in
                defer { answers = [:] }
                return answers
            }
        }
    }

    /// - Parameter listener: a socket that listens and does not block; it is closed at the end.
    init(listener: Int32, limits: Limits = Limits()) {
        self.listener = listener
        self.limits = limits
    }

    /// Ends the thread, which answers no request any more.
    func stop() { stopped.ring() }

    /// Answers until it is stopped.
    ///
    /// - Parameter thread: its thread's name, at most 15 bytes.
    /// - Throws: ``CommandError`` 1 when the system has no thread for it.
    func start(thread: String, _ answer: @escaping Answer) throws(CommandError) {
        let failure = PlainThread.start(name: thread) {
            var exchanges: [Exchange] = []
            var last: UInt64 = 0
            while turn(&exchanges, &last, answer) {}
            for descriptor in exchanges.map(\.descriptor) + [listener] { close(descriptor) }
        }
        guard let failure else { return }
        throw CommandError(.failed, "start the thread \(thread): \(String(cString: strerror(failure)))")
    }

    /// Waits and answers; false when it is stopped.
    private func turn(_ exchanges: inout [Exchange], _ last: inout UInt64, _ answer: Answer) -> Bool {
        let before = Self.now()
        var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        descriptors += exchanges.map { exchange in
            // Of one that waits only its end is looked for.
            let events = exchange.isWaiting ? 0 : exchange.answer == nil ? POLLIN : POLLOUT
            return pollfd(fd: exchange.descriptor, events: Int16(events), revents: 0)
        }
        descriptors.append(pollfd(fd: arrivals.descriptor, events: Int16(POLLIN), revents: 0))
        descriptors.append(pollfd(fd: stopped.descriptor, events: Int16(POLLIN), revents: 0))
        let next = exchanges.map(\.deadline).min().map { Int32(clamping: max(0, $0 - before) + 1) } ?? -1
        guard poll(&descriptors, nfds_t(descriptors.count), next) >= 0 else { return true }
        guard descriptors.last?.revents == 0 else { return false }
        let now = Self.now()
        if descriptors[exchanges.count + 1].revents != 0 { takeArrived(into: &exchanges, at: now) }
        for index in exchanges.indices.reversed() {
            var goesOn = exchanges[index].deadline > now
            if goesOn, descriptors[index + 1].revents != 0 {
                goesOn = !exchanges[index].isWaiting && proceed(&exchanges[index], answer, at: now)
            }
            if !goesOn { close(exchanges.remove(at: index).descriptor) }
        }
        if descriptors[0].revents != 0 { accept(into: &exchanges, &last, answer, at: now) }
        return true
    }

    /// Answers have come: they are written as soon as they can be.
    private func takeArrived(into exchanges: inout [Exchange], at now: Int64) {
        let answers = arrivals.takeAll()
        for index in exchanges.indices {
            guard let answer = answers[exchanges[index].number] else { continue }
            (exchanges[index].answer, exchanges[index].isWaiting) = (answer[...], false)
            exchanges[index].deadline = now + limits.milliseconds
        }
    }

    private func accept(
        into exchanges: inout [Exchange], _ last: inout UInt64, _ answer: Answer, at now: Int64
    ) {
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
            // What was begun is not taken from who waits for it.
            guard let longest = exchanges.firstIndex(where: { $0.answer == nil && !$0.isWaiting }) else {
                close(client)
                return
            }
            close(exchanges.remove(at: longest).descriptor)
        }
        last += 1
        var exchange = Exchange(descriptor: client, number: last, deadline: now + limits.milliseconds)
        if proceed(&exchange, answer, at: now) { exchanges.append(exchange) } else { close(client) }
    }

    /// Reads or writes what is possible now; false when the exchange is over.
    private func proceed(_ exchange: inout Exchange, _ answer: Answer, at now: Int64) -> Bool {
        if exchange.answer == nil {
            // Asked before anything came too: some answers need no request.
            if exchange.request.isEmpty { react(&exchange, to: answer(exchange.request), at: now) }
            if exchange.answer == nil, !exchange.isWaiting {
                guard read(&exchange) else { return false }
                react(&exchange, to: answer(exchange.request), at: now)
            }
        }
        return exchange.answer == nil ? true : write(&exchange)
    }

    private func react(_ exchange: inout Exchange, to reaction: Reaction, at now: Int64) {
        switch reaction {
        case .readOn: break
        case .answer(let bytes): exchange.answer = bytes[...]
        case .later(let begin):
            (exchange.isWaiting, exchange.request) = (true, [])
            exchange.deadline = now + limits.answerMilliseconds
            let (arrivals, number) = (arrivals, exchange.number)
            begin { arrivals.add($0, to: number) }
        }
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

    /// A socket that listens on an address.
    ///
    /// - Throws: ``CommandError`` 1 when it can't be listened on.
    static func listen(
        _ host: String, _ port: UInt16, _ address: String, for purpose: String
    ) throws(CommandError) -> Int32 {
        func fault(_ what: String) -> CommandError {
            CommandError(.failed, "listen for \(purpose) on \(address): \(what)")
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let found else { throw fault(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(found) }
        let descriptor = socket(
            found.pointee.ai_family,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw fault(String(cString: strerror(errno))) }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
            Glibc.listen(descriptor, 128) == 0
        else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw fault(reason)
        }
        return descriptor
    }

    private static func now() -> Int64 { Int64(MonotonicTime.now / 1_000_000) }
}
