import MQTTLink

/// What a simulated fleet wants done.
enum FleetStep: Sendable {
    case publish(MQTTMessage, by: Int)
    /// An open, a call or a move, which takes its time: ``SimulatedFleet/ended(_:_:at:)`` follows.
    case run(SimulatedCommand)
    /// Ends the work on a command.
    case cancel(SimulatedCommand.Key)
    /// Makes the agent's own session; ``SimulatedFleet/born(_:mqtt:at:)`` follows.
    case connect(Int)
    /// Ends the agent's own session without a goodbye: the broker publishes the will.
    case drop(Int)
}
