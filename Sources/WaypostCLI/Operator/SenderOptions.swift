import ArgumentParser
import Glibc
import WaypostMessages

/// Who sends: the name stands in the topic, so that the broker's rules can vouch for it.
struct SenderOptions: ParsableArguments {
    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The sender's name, as it appears in topics.", discussion: "Default: your user name, else ops.",
            valueName: "name"))
    var name: String?

    func validate() throws { try NameCheck.check(name, of: "--as") }

    /// The name given, or the user's.
    var sender: String { name ?? Self.user }

    /// The user's name, without the characters that a topic can not have.
    static var user: String {
        let user = getenv("USER").map { String(cString: $0) } ?? ""
        let cleaned = String(user.prefix(Name.maximumBytes).filter { Name.isValid(String($0)) })
        return cleaned.isEmpty ? "ops" : cleaned
    }
}
