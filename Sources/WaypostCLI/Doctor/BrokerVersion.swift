/// What is known of a broker from what it says about itself on `$SYS/broker/version`.
struct BrokerVersion: Sendable {
    /// The topic on which mosquitto, and a few others, name themselves.
    static let topic = "$SYS/broker/version"

    /// A fault of mosquitto that was fixed in some version.
    private struct Fault {
        /// The first version without it.
        var fixed: [Int]
        /// The first version that has it.
        var since: [Int] = [0]
        var text: String
    }

    // From mosquitto's change log; those that a client of ours can meet or that let anyone stop the broker.
    private static let faults: [Fault] = [
        Fault(
            fixed: [2, 0, 8], since: [2, 0, 0],
            text: "a PUBLISH with an empty topic ends it (CVE-2021-34432)"),
        Fault(
            fixed: [2, 0, 10], since: [2, 0, 0],
            text: "a client that is logged in can end it with a CONNACK (CVE-2021-28166)"),
        Fault(fixed: [2, 0, 12], since: [1, 6, 0], text: "many user properties stall it (CVE-2021-41039)"),
        Fault(
            fixed: [2, 0, 16],
            text: "the first packet of an unknown client can use all its memory (CVE-2023-0809)"),
        Fault(fixed: [2, 0, 16], text: "repeated QoS 2 ids leak its memory (CVE-2023-28366)"),
        Fault(fixed: [2, 0, 19], text: "a sequence of packets can end it (CVE-2024-8376)"),
    ]

    let text: String

    /// - Parameter text: what the broker says; only its beginning counts.
    init(_ text: String) { self.text = String(text.unicodeScalars.prefix(200)) }

    /// What to say about it, and what to do.
    ///
    /// The version that a broker names does not tell whether a distribution has put the corrections into its package
    /// and kept the number, so that it is a warning only for what is known to have none of them.
    ///
    /// - Parameter package: the version of the package that is installed on the broker's machine, where that is known.
    func finding(package: String? = nil) -> DoctorFinding {
        guard let numbers = mosquitto else { return DoctorFinding("version", .ok, text) }
        let known = Self.faults.filter {
            !Self.isBelow($0.since, numbers) && Self.isBelow($0.fixed, numbers)
        }
        guard let newest = known.map(\.fixed).max(by: { Self.isBelow($1, $0) }) else {
            return DoctorFinding("version", .ok, text)
        }
        let own = package.flatMap { text.hasSuffix(" \($0.prefix { $0 != "-" })") ? $0 : nil }
        if let own, Self.isCorrected(own) {
            return DoctorFinding("version", .ok, "\(text), package \(own), which has the corrections")
        }
        let version = newest.map(String.init).joined(separator: ".")
        let faults = known.map(\.text).joined(separator: "; ")
        return DoctorFinding(
            "version", own == nil ? .note : .warning,
            own.map { "\(text), package \($0), has known faults: \(faults)" }
                ?? "\(text); unless its package has the corrections, it has known faults: \(faults)",
            advice: "mosquitto \(version) has them, and so has Debian 12 from 2.0.11-1.2+deb12u2 on")
    }

    /// Whether it is Debian 12's package from the second update on.
    private static func isCorrected(_ package: String) -> Bool {
        let start = "2.0.11-1.2+deb12u"
        guard package.hasPrefix(start) else { return false }
        return Int(package.dropFirst(start.count).prefix(while: \.isNumber)).map { $0 >= 2 } ?? false
    }

    /// The numbers of `mosquitto version 2.0.11`.
    private var mosquitto: [Int]? {
        guard text.hasPrefix("mosquitto version "), let word = text.split(separator: " ").last else {
            return nil
        }
        let numbers = word.split(separator: ".").map { Int($0.prefix(while: \.isNumber)) ?? 0 }
        return numbers.count >= 2 ? numbers : nil
    }

    /// Whether `version` comes before `bound`.
    private static func isBelow(_ bound: [Int], _ version: [Int]) -> Bool {
        version.lexicographicallyPrecedes(bound)
    }
}

/// A package that Debian's dpkg has installed on this machine.
enum InstalledPackage {
    /// The version of a package, such as `2.0.11-1.2+deb12u2`; nil when it is not installed, or there is no dpkg.
    static func version(of name: String, in file: String = "/var/lib/dpkg/status") -> String? {
        guard let list = try? InputFile.read(file, purpose: "the list of packages") else { return nil }
        let (package, version) = (Array("Package: \(name)".utf8), Array("Version: ".utf8))
        var isThere = false
        for line in list.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { isThere = false }
            if line.elementsEqual(package) { isThere = true }
            if isThere, line.starts(with: version) {
                return String(decoding: line.dropFirst(version.count), as: UTF8.self)
            }
        }
        return nil
    }
}
