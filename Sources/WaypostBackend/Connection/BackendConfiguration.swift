package import Logging
package import MQTTLink
package import WaypostMessages

/// Where the broker is, how to log in, and under which name a backend sends.
package struct BackendConfiguration: Sendable {
    /// Tried in turn.
    package var brokers: [BrokerURL]
    package var credentials: Credentials?
    package var tls: TLSOptions?
    package var version = MQTTLinkConfiguration.ProtocolVersion.automatic
    package var topics = Topics.standard
    /// The sender, as agents and the broker's rules see it.
    package var name: String
    /// Takes warnings, such as messages that were dropped.
    package var logger: Logger

    package init(
        brokers: [BrokerURL], name: String, logger: Logger = Logger(label: "waypost.backend")
    ) {
        self.brokers = brokers
        self.name = name
        self.logger = logger
    }

    /// A link that the broker forgets when it ends.
    package func oneShot(clientID: String) -> MQTTLinkConfiguration {
        complete(.oneShot(brokers: brokers, clientID: clientID))
    }

    /// A link that lasts.
    package func lasting(clientID: String) -> MQTTLinkConfiguration {
        complete(MQTTLinkConfiguration(brokers: brokers, clientID: clientID))
    }

    /// The brokers for a sentence.
    package var place: String { brokers.map(\.description).joined(separator: ", ") }

    private func complete(_ link: MQTTLinkConfiguration) -> MQTTLinkConfiguration {
        var link = link
        link.credentials = credentials
        link.tls = tls
        link.protocolVersion = version
        return link
    }
}
