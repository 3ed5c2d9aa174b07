public import Logging
public import MQTTLink
public import Tracing
import Waypost
package import WaypostMessages

/// Where the broker is, how to log in, and under which name a backend sends.
///
///     var configuration = try BackendConfiguration(broker: "mqtts://broker.example", name: "shop")
///     configuration.credentials = Credentials(username: "shop", password: password)
public struct BackendConfiguration: Sendable {
    /// The brokers, tried in turn.
    public var brokers: [BrokerURL]
    /// The user name and the password.
    public var credentials: Credentials?
    /// Certificates for `mqtts`; the system's authorities are trusted unless it says others.
    public var tls: TLSOptions?
    /// A SOCKS5 proxy through which brokers are reached; none unless given.
    ///
    /// Through it MQTT 3.1.1 is spoken.
    public var proxy: ProxyURL?
    /// The version of MQTT: 5 first unless given.
    public var version = MQTTLinkConfiguration.ProtocolVersion.automatic
    /// The sender's name, as agents and the broker's rules see it: it stands in the topics.
    public var name: String
    /// Signs commands and maps.
    public var signer: Signer?
    /// Takes warnings, such as messages that were dropped.
    public var logger: Logger
    /// Gets a span of each open and call; the tracer of `InstrumentationSystem` when the backend is made, unless set.
    public var tracer: (any Tracer)?
    package var topics = Topics.standard
    /// Whether what is noted is read at a command line, which has words of its own for what to do.
    package var speaksShell = false

    /// A text as it is to be noted.
    func words(_ wording: Wording) -> String { speaksShell ? wording.shell : wording.library }
    /// How agents are asked, where this sender may only send maps: see ``asking``.
    package var asker: Asker?
    /// Whether whoever set these can name another one that asks agents.
    package var canNameAsker = false
    /// Makes the links to the broker.
    package var makeLink: MakeLink = { MQTTLink(configuration: $0, delegate: $1) }
    /// A connection that all share; nil for one of each session's own.
    package var shared: SharedLink?

    package init(
        brokers: [BrokerURL], name: String, logger: Logger = Logger(label: "waypost.backend")
    ) {
        self.brokers = brokers
        self.name = name
        self.logger = logger
    }

    /// A broker as `mqtt://host:1883`, `mqtts://host:8883` or `unix:///path`, and the sender's name.
    ///
    /// - Parameter root: The prefix of all topics.
    /// - Throws: ``BackendError`` of kind `invalid` naming what is wrong.
    public init(
        broker: String, name: String, root: String = "waypost/v1"
    ) throws(BackendError) {
        let url: BrokerURL
        do {
            url = try BrokerURL(broker)
        } catch {
            throw BackendError(.invalid, "broker: \(error)")
        }
        guard Name.isValid(name) else {
            throw BackendError(
                .invalid, "the name \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        guard let topics = Topics(root: root) else {
            throw BackendError(
                .invalid, "root \(root.quoted) \(Topics.fault(in: root) ?? "is not a topic prefix")")
        }
        self.init(brokers: [url], name: name)
        self.topics = topics
    }

    /// Who asks agents in the place of one who only sends maps.
    package final class Asker: Sendable {
        fileprivate let settings: BackendConfiguration

        package init(_ settings: BackendConfiguration) { self.settings = settings }
    }

    /// The settings with which agents are asked.
    var asking: BackendConfiguration { asker?.settings ?? self }

    /// The prefix of all topics.
    public var root: String { topics.root }

    /// A link that the broker forgets when it ends.
    package func oneShot(clientID: String) -> MQTTLinkConfiguration {
        complete(.oneShot(brokers: brokers, clientID: clientID))
    }

    /// A link that lasts.
    package func lasting(clientID: String) -> MQTTLinkConfiguration {
        complete(MQTTLinkConfiguration(brokers: brokers, clientID: clientID))
    }

    /// Another one for each connection, so that two programs of one name do not take the session from each other.
    var newClientID: String { "waypost-\(name.prefix(40))-\(Identifier.short())" }

    /// The same text for all that name the same brokers, in whatever order and however they are written.
    package var comparedPlace: String { Set(brokers.map(\.compared)).sorted().joined(separator: ", ") }

    /// The brokers for a sentence.
    package var place: String { brokers.map(\.description).joined(separator: ", ") }

    private func complete(_ link: MQTTLinkConfiguration) -> MQTTLinkConfiguration {
        var link = link
        link.credentials = credentials
        link.tls = tls
        link.proxy = proxy
        link.protocolVersion = version
        return link
    }
}
