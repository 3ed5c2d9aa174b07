/// Why there is no connection: what was tried, against which broker, what was found, and what comes next.
public struct DisconnectReason: Error, Sendable, Hashable, CustomStringConvertible {
    /// How far it had come.
    public enum Stage: String, Sendable, Hashable {
        /// Looking up the broker's name.
        case resolving = "resolving the name of"
        /// Opening the socket.
        case connecting = "connecting to"
        /// TLS, until both sides know each other; only with `mqtts`.
        case securing = "setting up TLS with"
        /// From the CONNECT to the CONNACK.
        case handshaking = "logging in to"
        /// Waiting for the answers to the subscriptions.
        case subscribing = "subscribing at"
        /// Connected.
        case online = "connected to"
    }

    /// What was found.
    public enum Cause: Sendable, Hashable {
        /// The broker refused the CONNECT; with its own text, if it gave any.
        case refused(ReasonCode, detail: String?)
        /// The name has no address now.
        case unknownHost(String)
        /// The operating system reported an error, by its `errno`.
        case network(code: Int32, text: String)
        /// The broker closed the connection and gave no reason.
        case closedByBroker
        /// Nothing came within the deadline.
        case timedOut
        /// Nothing came for a keepalive, not even an answer to a ping: the broker hangs, or the link is half open.
        case keepAlive
        /// A message was written, and the broker has not acknowledged it in this time.
        case unacknowledged(after: Duration)
        /// The SOCKS5 proxy can't be reached, or does not let the connection through.
        case proxy(String)
        /// TLS failed; with OpenSSL's findings.
        case tls(String)
        /// The broker sent a DISCONNECT (v5). Its own text, if it gave any, is lost in libmosquitto.
        case serverDisconnect(ReasonCode)
        /// Another client with our id took the session.
        case sessionTakenOver
        /// The session was taken again and again after a few seconds: two clients are likely to share one id.
        case clientIDConflict(shortSessions: Int)
        /// The broker sent something that is not MQTT, or broke its rules.
        case protocolViolation(String)
        /// The broker announced a packet beyond `maximumPacketSize` that could not be skipped.
        case packetTooLarge(bytes: Int, limit: Int)
        /// The delegate could not store a batch; the broker will deliver it again.
        case batchRefused
        /// libmosquitto failed in another way; with its code and its text.
        case library(code: Int32, text: String)
        /// `renew` was called.
        case renewing
        /// The preferred broker is there again, see `MQTTLinkConfiguration.prefersFirstBroker`.
        case returning
        /// `stop` was called.
        case stopped
    }

    /// What was found.
    public var cause: Cause
    /// How far it had come.
    public var stage: Stage
    /// The broker it was tried with.
    public var broker: BrokerURL
    /// The version it was tried with.
    public var version: MQTTVersion
    /// When it is tried next; `nil` when it is not.
    public var retryIn: Duration?
    /// Whether the same broker gave the same answer before, and no session has held since: no news for a person.
    public var isRepeated = false

    /// A reason; for tests that play a link.
    public init(
        cause: Cause, stage: Stage, broker: BrokerURL, version: MQTTVersion = .v5, retryIn: Duration? = nil
    ) {
        self.cause = cause
        self.stage = stage
        self.broker = broker
        self.version = version
        self.retryIn = retryIn
    }

    /// One sentence for people, ending with what to do and when it is tried again.
    public var description: String {
        let next = retryIn.map { $0 > .zero ? "next try in \(Self.seconds($0)) s" : "trying again now" }
        return [summary, advice, next].compactMap(\.self).joined(separator: "; ")
    }

    /// What was tried, against which broker, and what was found: ``description`` without what to do and the next try.
    public var summary: String { "\(stage.rawValue) \(broker) (MQTT \(version)): \(finding)" }

    /// In tenths, at least one: a moment is not no time.
    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let tenths = max(1, seconds * 10 + attoseconds / 100_000_000_000_000_000)
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10)" : "\(tenths / 10)"
    }

    private func quoted(_ detail: String?) -> String { detail.map { ", saying \"\($0)\"" } ?? "" }

    private var finding: String {
        switch cause {
        case .refused(let code, let detail): "refused with \(code)\(quoted(detail))"
        case .unknownHost(let text): "the name has no address (\(text))"
        case .network(let code, let text): "\(text) (errno \(code))"
        case .closedByBroker: "the broker closed the connection"
        case .timedOut: "no answer in time"
        case .keepAlive: "nothing was received for a keepalive interval"
        case .unacknowledged(let limit):
            "the broker did not acknowledge a message within \(Self.seconds(limit)) s"
        case .proxy(let text): "the proxy \(text)"
        case .tls(let text): "TLS failed: \(text)"
        case .serverDisconnect(let code): "the broker disconnected us with \(code)"
        case .sessionTakenOver: "another client with the same client id took over the session"
        case .clientIDConflict(let count):
            "the session was lost \(count) times in a row, each time after a few seconds"
        case .protocolViolation(let text): "the broker broke the protocol: \(text)"
        case .packetTooLarge(let bytes, let limit):
            "the broker announced a packet of \(bytes) bytes; the limit is \(limit)"
        case .batchRefused: "cannot store messages; the broker will resend them"
        case .library(let code, let text): "\(text) (libmosquitto \(code))"
        case .returning: "closed, to return to the first broker"
        case .renewing: "closed, to connect again with new credentials or certificates"
        case .stopped: "stopped"
        }
    }

    /// What to do; `nil` when the finding says it all.
    public var advice: String? {
        switch cause {
        case .refused(.badUserNameOrPassword, _): "check the user name and the password"
        case .refused(.notAuthorized, _):
            "check the user name, the password and the broker's rules for this client id"
        case .refused(.unsupportedProtocolVersion, _): "choose the MQTT version automatically"
        case .unknownHost: "check the broker's name and DNS"
        case .network where stage == .online: nil
        case .network(let code, _) where unreachable.contains(code):
            "check the address and this machine's network"
        case .network: "is a broker listening there?"
        case .closedByBroker where stage == .securing:
            "is it the port for TLS? A URL without TLS begins with mqtt://"
        case .timedOut where stage == .securing:
            "something accepts connections there, but it does not answer TLS; "
                + "a URL without TLS begins with mqtt://"
        case .closedByBroker where stage == .handshaking, .protocolViolation where stage == .handshaking:
            broker.transport == .tls
                ? "does the broker require a client certificate, or a different one?"
                : version == .v5
                    ? "does the broker speak only MQTT 3.1.1, does this port expect TLS (mqtts://), or is it no broker?"
                    : "does this port expect TLS (mqtts://), or is it not an MQTT broker?"
        case .closedByBroker where stage == .subscribing:
            "RabbitMQ does so when the node is down that has this client's queue, and when a subscription is not allowed"
        case .timedOut where stage == .resolving: "check DNS"
        case .timedOut where stage == .handshaking:
            "something accepts connections there, but it does not answer MQTT"
        case .timedOut where stage == .connecting: "check the address and the firewall"
        case .proxy: "check the proxy's URL, and which connections it allows"
        case .tls where stage != .connecting:
            "check the certificates on both sides, and that this port expects TLS"
        case .refused(.quotaExceeded, _), .serverDisconnect(.quotaExceeded):
            "check the limits that the broker sets for this client"
        case .refused(.useAnotherServer, _), .refused(.serverMoved, _), .serverDisconnect(.useAnotherServer),
            .serverDisconnect(.serverMoved):
            "ask its operator which broker to use"
        case .sessionTakenOver, .clientIDConflict: "give each client its own client id"
        case .packetTooLarge:
            "set the broker's largest message (mosquitto: message_size_limit) below the limit"
        default: nil
        }
    }
}
