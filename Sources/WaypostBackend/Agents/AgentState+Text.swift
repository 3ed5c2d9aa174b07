package import WaypostMessages

extension AgentState {
    /// The MQTT version as people write it.
    package var mqttVersion: String { mqtt == 4 ? "3.1.1" : String(mqtt) }
}
