import CMosquitto
import Glibc
import Synchronization
import Threading

/// Makes a handle and begins its connection on a thread of its own, which may block in the name server.
///
/// The link's thread does not wait for it: when the deadline has passed it forgets the attempt, and a handle that
/// comes late is destroyed over there. The TCP connect itself is not waited for here; it goes on in the link's poll.
final class ConnectAttempt: Sendable {
    struct Request: Sendable {
        var attempt: LinkState.Attempt
        var broker: BrokerURL
        var will: MQTTMessage?
        var configuration: MQTTLinkConfiguration

        /// Seconds until the will is published; on 3.1.1 it is at once.
        var willDelay: UInt32 {
            attempt.delaysWill && attempt.version == .v5 ? configuration.willDelay : 0
        }
    }

    enum Outcome: Sendable {
        case begun(ClientHandle)
        case failed(DisconnectReason.Cause, DisconnectReason.Stage)
        /// It came too late; only the thread's end is of interest.
        case abandoned
    }

    private let request: Request
    private let isAbandoned = Atomic(false)

    init(_ request: Request) { self.request = request }

    /// Starts the thread; its outcome comes through the mailbox.
    func start(_ mailbox: Mailbox) {
        let number = request.attempt.number
        let failure = PlainThread.start(name: "mqtt-connect") { [self] in
            let outcome = outcome()
            mailbox.post(
                .attempted(number: number, isAbandoned.load(ordering: .acquiring) ? .abandoned : outcome))
        }
        if let failure { mailbox.post(.attempted(number: number, .failed(.system(failure), .resolving))) }
    }

    /// Its outcome is no longer of interest.
    func abandon() { isAbandoned.store(true, ordering: .releasing) }

    private func outcome() -> Outcome {
        let broker = request.broker
        if let fault = request.configuration.identityFault {
            return .failed(.library(code: MOSQ_ERR_INVAL.rawValue, text: fault), .connecting)
        }
        if broker.transport == .tls, let fault = request.configuration.tls?.fault {
            return .failed(.tls(fault), .connecting)
        }
        // The proxy knows the name.
        guard broker.transport != .unix, request.configuration.proxy == nil else {
            return begin([Target(host: broker.host)])
        }
        let addresses: [NumericAddress]
        do {
            addresses = try Resolver.addresses(of: broker.host)
        } catch {
            return .failed(.unknownHost(error.text), .resolving)
        }
        // Begin with another address after each failure: the first may be a black hole.
        let turn = request.attempt.addressTurn % addresses.count
        let ordered = addresses[turn...] + addresses[..<turn]
        if broker.transport == .tcp { return begin(ordered.map { Target(host: $0.text) }) }
        // TLS checks the name, so the name it must be. Where a name has both kinds of addresses, binding to the
        // kind keeps the library to it.
        let isMixed = Set(addresses.map(\.isIPv6)).count > 1
        return begin(ordered.map { Target(host: broker.host, bindTo: isMixed ? $0.wildcard : nil) })
    }

    private struct Target: Hashable {
        var host: String
        var bindTo: String?
    }

    /// The first target that does not fail at once.
    private func begin(_ targets: [Target]) -> Outcome {
        var last = Outcome.failed(.unknownHost("no address"), .resolving)
        var tried: Set<Target> = []
        for target in targets where tried.insert(target).inserted {
            if isAbandoned.load(ordering: .acquiring) { return .abandoned }
            last = begin(target)
            guard case .failed(.network, _) = last else { return last }
        }
        return last
    }

    private func begin(_ target: Target) -> Outcome {
        let configuration = request.configuration
        let version = request.attempt.version
        var handle: ClientHandle?
        do {
            let made = try ClientHandle(
                clientID: configuration.clientID, cleanStart: configuration.cleanStart, version: version)
            handle = made
            if let credentials = configuration.credentials { try made.set(credentials) }
            if request.broker.transport == .tls { try made.set(configuration.tls ?? TLSOptions()) }
            let proxy = request.broker.transport == .unix ? nil : configuration.proxy
            if let proxy { try made.set(proxy) }
            if let will = request.will { try made.set(will: will, delay: request.willDelay) }
            try made.connect(
                host: target.host, port: request.broker.port, keepAlive: configuration.keepAliveSeconds,
                bindTo: target.bindTo, properties: properties)
            return .begun(made)
        } catch {
            let isTLS = request.broker.transport == .tls && error.doing.hasPrefix("mosquitto_tls")
            if isTLS { return .failed(.tls(error.description), .connecting) }
            if let proxy = handle?.proxy {
                return .failed(
                    proxy.unreachable(
                        error.systemCode == 0 ? .unknownHost(error.text) : .system(error.systemCode)),
                    .connecting)
            }
            if error.code == MOSQ_ERR_EAI.rawValue { return .failed(.unknownHost(error.text), .resolving) }
            var cause = DisconnectReason.Cause.of(
                code: error.code, systemCode: error.systemCode, logLines: handle?.sink.logLines ?? [],
                certificateProblem: handle?.sink.certificateProblem)
            if case .protocolViolation = cause { cause = .library(code: error.code, text: error.description) }
            // The library begins with TLS in the same call, and a fast broker may have answered by then.
            return .failed(cause, error.code == MOSQ_ERR_TLS.rawValue ? .securing : .connecting)
        }
    }

    private var properties: PropertyList {
        var list = PropertyList()
        list.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL.id, word: request.configuration.sessionExpiry)
        list.add(MQTT_PROP_RECEIVE_MAXIMUM.id, short: max(request.configuration.receiveMaximum, 1))
        list.add(MQTT_PROP_MAXIMUM_PACKET_SIZE.id, word: UInt32(clamping: request.configuration.packetLimit))
        return list
    }
}

extension MQTTLinkConfiguration {
    /// libmosquitto takes C strings, and a NUL would cut them: another id, or a shorter password.
    fileprivate var identityFault: String? {
        if clientID.isEmpty || clientID.utf8.count > 65_535 {
            return "the client id must have 1 to 65535 bytes"
        }
        if proxy != nil, protocolVersion == .v5 {
            return "MQTT 5 does not go through a SOCKS5 proxy; choose the version automatically, or 3.1.1"
        }
        let texts = [clientID, credentials?.username, credentials?.password].compactMap(\.self)
        return texts.contains { $0.utf8.contains(0) }
            ? "the client id, the user name or the password contains a NUL" : nil
    }

    /// What libmosquitto takes: whole seconds, at least 5.
    var keepAliveSeconds: Int32 { Int32(max(5, min(keepAlive.components.seconds, 65_535))) }
}
