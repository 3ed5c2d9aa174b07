import Waypost

/// A certificate, or the key of one, as the text of a file has it.
struct WorldCertificate {
    let number: Int
    /// That of its key.
    let key: Int
    /// In seconds since 1970.
    let notBefore: Int64
    let notAfter: Int64
    /// Whether the broker knows who signed it.
    let isTrusted: Bool

    var text: String {
        "certificate \(number) \(key) \(notBefore) \(notAfter) \(isTrusted ? "known" : "unknown") end"
    }

    init(_ number: Int, key: Int, _ notBefore: Int64, _ notAfter: Int64, isTrusted: Bool = true) {
        (self.number, self.key, self.isTrusted) = (number, key, isTrusted)
        (self.notBefore, self.notAfter) = (notBefore, notAfter)
    }

    /// Nil for one that is not whole.
    init?(_ text: String?) {
        let words = text?.split(separator: " ") ?? []
        guard words.count == 7, words[0] == "certificate", words[6] == "end", let number = Int(words[1]),
            let key = Int(words[2]), let notBefore = Int64(words[3]), let notAfter = Int64(words[4])
        else { return nil }
        self.init(number, key: key, notBefore, notAfter, isTrusted: words[5] == "known")
    }

    static func key(_ number: Int) -> String { "key \(number) end" }

    /// Why a broker does not take it with a key; nil when it does.
    ///
    /// - Parameter now: by the broker's clock, in seconds since 1970.
    func refusal(with key: String, at now: Int64) -> String? {
        guard key == Self.key(self.key) else { return "key values mismatch" }
        let fault: String? =
            !isTrusted ? "unknown ca" : now < notBefore ? "not yet valid" : now >= notAfter ? "expired" : nil
        return fault.map { "certificate \(number): \($0)" }
    }
}

/// The certificates of an agent: what people and its own program put beside the one in use, and what became of each.
struct SentCertificates: Codable {
    /// What is put beside the one in use.
    enum Kind: String, Codable, CaseIterable {
        case good, sameKey, expired, future, stranger, wrongKey, older, open, half, halfKey
        /// The certificate comes before its key.
        case keyLater
    }

    private(set) var last = 0
    /// Those that the broker took from who tried them, each with its key.
    private var accepted: Set<String> = []
    /// Those that it refused, by number.
    private(set) var refused: Set<Int> = []
    /// Those that were in use, in order, and their ends in milliseconds.
    private var numbers: [Int] = []
    private var ends: [Int64] = []
    /// Which of them the agent has said to be in use, at least.
    private var shown = 0
    /// Whether its health said that a newer one was taken since that came in use.
    private(set) var isTold = false
    /// Those of which its health said that they were refused.
    private(set) var toldRefused: Set<Int> = []
    /// Whether a newer one lies there, and has neither been refused nor taken.
    var isTrying = false

    mutating func next() -> Int {
        last += 1
        return last
    }

    private static func pair(_ certificate: String?, _ key: String?) -> String {
        "\(certificate ?? "") \(key ?? "")"
    }

    mutating func begins(with certificate: WorldCertificate, _ key: String) {
        accept(certificate.text, key)
        uses(certificate)
    }

    mutating func accept(_ certificate: String?, _ key: String?) {
        accepted.insert(Self.pair(certificate, key))
    }

    func isAccepted(_ certificate: String?, _ key: String?) -> Bool {
        accepted.contains(Self.pair(certificate, key))
    }

    mutating func refuse(_ number: Int?) {
        if let number { refused.insert(number) }
        isTrying = false
    }

    mutating func uses(_ certificate: WorldCertificate) {
        guard numbers.last != certificate.number else { return }
        numbers.append(certificate.number)
        ends.append(certificate.notAfter * 1_000)
        (isTold, isTrying) = (false, false)
    }

    /// What its health says of the one in use, and of the last try: law 8.
    mutating func heard(_ health: JSONValue) throws(People.Breach) {
        guard !numbers.isEmpty else { return }
        guard let end = health["certificate"]?["until"]?.intValue,
            let index = ends.lastIndex(of: end), index >= shown
        else {
            throw People.Breach(
                law: 8,
                text: "its certificate ends as \(health["certificate"] ?? .null), and not as one of \(ends)")
        }
        shown = index
        guard let told = health["certificate"]?["last"], told != .null else { return }
        guard told["ok"] != true else {
            guard numbers.count > 1 else {
                throw People.Breach(law: 8, text: "a certificate was renewed, and none was taken")
            }
            isTold = isTold || index == ends.count - 1
            return
        }
        let words = told["detail"]?.stringValue?.split { !$0.isLetter && !$0.isNumber } ?? []
        guard let place = words.lastIndex(of: "certificate"), place + 1 < words.count,
            let number = Int(words[place + 1])
        else { return }
        guard refused.contains(number) else {
            throw People.Breach(law: 8, text: "certificate \(number) was not refused: \(told)")
        }
        toldRefused.insert(number)
    }
}
