import ArgumentParser
import WaypostBackend

/// Who asks agents, where the sender may only send maps, as the release role of the shipped rules.
struct AskOptions: ParsableArguments {
    @Option(
        name: .customLong("ask-as"),
        help: ArgumentHelp(
            "Ask agents with the settings of this profile, where those of the sender may not.",
            valueName: "profile"),
        completion: .profiles)
    var profile: String?

    /// - Throws: ``CommandError`` 64 naming the profile that is not there.
    fileprivate func asker() async throws(CommandError) -> BackendConfiguration.Asker? {
        guard let profile else { return nil }
        try ProfileStore.user.check(profile)
        let settings = try Settings([:], file: nil, profile: profile)
        var configuration = try await BackendConfiguration(settings, name: nil)
        try await configuration.takeAccount(settings)
        return BackendConfiguration.Asker(configuration)
    }
}

extension SessionOptions {
    /// The broker and the sender, with the key that signs what is sent, and who asks.
    func resolved(
        signedBy signing: SignOptions, asking: AskOptions
    ) async throws(CommandError) -> BackendConfiguration {
        var settings = try await resolved(signedBy: signing)
        settings.asker = try await asking.asker()
        settings.canNameAsker = true
        return settings
    }
}
