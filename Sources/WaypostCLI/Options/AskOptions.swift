import ArgumentParser
import WaypostBackend
import WaypostMessages

/// What every verb that asks agents needs: the key, how long it waits, the sender's name and the broker.
struct AskOptions: ParsableArguments {
    @OptionGroup(title: "Signing", visibility: .shared)
    var signing: SignOptions

    @OptionGroup
    var wait: WaitOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
    var broker: BrokerOptions

    /// Throws when it does not wait, for a verb that only prints answers.
    func validateWaits() throws {
        guard wait.isOn else { throw ValidationError("--wait 0 waits for no answer") }
    }

    /// The broker and the sender, with the key that signs what is asked.
    func settings() async throws -> BackendConfiguration {
        var settings = try await broker.resolved(as: sender.name)
        settings.signer = try signing.signer()
        return settings
    }

    /// The maps of one agent, or of a group.
    func maps(of audience: Audience) async throws -> MapClient {
        MapClient(try await settings(), of: audience, replyWait)
    }

    func signer() throws -> Signer? { try signing.signer() }

    var replyWait: ReplyWait { wait.replyWait }
}
