import Glibc
import TestSupport
import Threading

/// A slow network between an agent and its broker: TCP that forwards at once what the broker sends, and what it gets at
/// a rate, or not at all.
final class SlowRelay: Sendable {
    struct Failure: Error { var code: Int32 }

    private struct State {
        /// Bytes a second; nil is as fast as it goes, and with 0 it stands still.
        var rate: Int?
        var sockets: Set<Int32> = []
        var isEnded = false
    }

    private static let pieceBytes = 16_384

    private let listener: Int32
    private let port: UInt16
    private let state: Guarded<State>

    init(to broker: TestBroker, bytesPerSecond: Int?) throws {
        state = Guarded(State(rate: bytesPerSecond))
        port = try FreePort.find()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0, Self.with(port, { bind(listener, $0, $1) }) == 0, listen(listener, 16) == 0
        else { throw Failure(code: errno) }
        let target = broker.port
        start { [self] in
            // The thread that accepts closes it: the number may be another's at once.
            defer { close(listener) }
            while true {
                let near = accept(listener, nil, nil)
                guard near >= 0 else { return }
                let far = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                guard Self.with(target, { connect(far, $0, $1) }) == 0, add([near, far]) else {
                    close(near)
                    close(far)
                    continue
                }
                start { [self] in
                    let isBack = Guarded(false)
                    start { [self] in
                        forward(from: far, to: near, isSlow: false)
                        isBack.withLock { $0 = true }
                    }
                    forward(from: near, to: far, isSlow: true)
                    while !isBack.withLock(\.self) { usleep(1_000) }
                    state.withLock { $0.sockets.subtract([near, far]) }
                    close(near)
                    close(far)
                }
            }
        }
    }

    var url: String { "mqtt://127.0.0.1:\(port)" }

    func setRate(bytesPerSecond: Int?) { state.withLock { $0.rate = bytesPerSecond } }

    func end() {
        state.withLock { state in
            state.isEnded = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func add(_ sockets: [Int32]) -> Bool {
        state.withLock { state in
            guard !state.isEnded else { return false }
            state.sockets.formUnion(sockets)
            return true
        }
    }

    private func start(_ body: @escaping @Sendable () -> Void) {
        _ = PlainThread.start(name: "slow-relay", body)
    }

    /// Until one of both ends.
    private func forward(from: Int32, to: Int32, isSlow: Bool) {
        defer { for socket in [from, to] { shutdown(socket, Int32(SHUT_RDWR)) } }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while true {
            let count = read(from, &piece, piece.count)
            guard count > 0, !isSlow || letThrough(count) else { return }
            var sent = 0
            while sent < count {
                let written = piece.withUnsafeBytes {
                    send(to, $0.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { return }
                sent += written
            }
        }
    }

    /// Takes the time that so many bytes need; false when it was ended.
    private func letThrough(_ bytes: Int) -> Bool {
        var passed = 0
        while passed < bytes {
            let (rate, isEnded) = state.withLock { ($0.rate, $0.isEnded) }
            if isEnded { return false }
            guard let rate else { return true }
            usleep(10_000)
            passed += rate / 100
        }
        return true
    }

    private static func with(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
