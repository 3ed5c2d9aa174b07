/// What was waited for did not happen.
public struct Timeout: Error, CustomStringConvertible {
    /// What was waited for.
    public var what: String
    /// The last events; of long ones the beginning.
    public var seen: [String]

    /// The end of a wait for that.
    public init(what: String, seen: [String] = []) {
        self.what = what
        self.seen = seen.map { String($0.prefix(500)) }
    }

    /// Both, in lines.
    public var description: String {
        "waited in vain for \(what)" + (seen.isEmpty ? "" : "; seen:\n" + seen.joined(separator: "\n"))
    }
}
