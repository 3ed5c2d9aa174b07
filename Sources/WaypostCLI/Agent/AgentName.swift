import Glibc
import Waypost
import WaypostMessages

/// The name of an agent as it is set, which may be made of what its machine is called, so that one image serves all devices.
///
/// `%m` is the machine's id, `%H` the host's name up to its first dot, `%i` the variable `WAYPOST_INSTANCE`:
/// `kiosk-%H`.
enum AgentName {
    static let advice =
        "--agent ID, WAYPOST_AGENT, or one for all devices: --agent kiosk-%H (%m: machine id, %H: host, %i: WAYPOST_INSTANCE)"

    /// - Parameter machineID: The file that has the machine's id.
    /// - Throws: ``CommandError`` 64 where a part is not known, or the whole is no name.
    static func read(
        _ text: String, environment: [String: String], machineID: String = "/etc/machine-id"
    ) throws(CommandError) -> String {
        var name = ""
        var rest = text[...]
        while let character = rest.popFirst() {
            guard character == "%" else {
                name.append(character)
                continue
            }
            let part: String?
            switch rest.popFirst() {
            case "m": part = (try? InputFile.read(machineID, purpose: "machine id"))?.firstLine
            case "H": part = host
            case "i": part = environment["WAYPOST_INSTANCE"]
            case let other:
                throw CommandError(
                    .usage,
                    "agent \(text.debugDescription): %\(other.map { "\($0)" } ?? "") is none of %m, %H and %i"
                )
            }
            guard let part, !part.isEmpty else {
                throw CommandError(
                    .usage,
                    "agent \(text.debugDescription): this machine has no id, name or instance to put there")
            }
            name += part
        }
        guard Name.isValid(name) else {
            let found =
                name == text
                ? name.debugDescription : "\(text.debugDescription), which is \(name.debugDescription) here,"
            throw CommandError(.usage, "agent \(found) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        return name
    }

    private static var host: String? {
        var names = utsname()
        guard uname(&names) == 0 else { return nil }
        let text = withUnsafeBytes(of: &names.nodename) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return text.split(separator: ".").first.map { String($0) }
    }
}

extension [UInt8] {
    fileprivate var firstLine: String {
        String(decoding: prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
