import ArgumentParser
import Glibc
import WaypostMessages

/// Who sends: the name stands in the topic, so that the broker's rules can vouch for it.
struct SenderOptions: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The sender's name, as it appears in topics.",
            discussion: "Default: the user name for the broker, else that of your account, else ops.",
            valueName: "name"))
    var name: String?

    func validate() throws { try NameCheck.check(name, of: "--as") }

    /// The name given, here or in the settings; else that of the broker's user, whom its rules know; else the user's.
    func sender(_ settings: BrokerSettings) -> String { name ?? settings.sender ?? Self.user }

    /// The user's name, without the characters that a topic can not have.
    static var user: String {
        let user = getenv("USER").map { String(cString: $0) } ?? ""
        let cleaned = String(user.prefix(Name.maximumBytes).filter { Name.isValid(String($0)) })
        return cleaned.isEmpty ? "ops" : cleaned
    }
}
