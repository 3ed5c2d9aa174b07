import WaypostMessages

/// How log lines are written: their form, and what is added to it, as in `adb logcat -v`.
struct LogFormat: Sendable {
    enum Form: String, Sendable, CaseIterable {
        case threadtime, brief, json
    }

    static let brief = LogFormat(form: .brief)
    static let threadtime = LogFormat(form: .threadtime)

    /// The words that may follow `-v`.
    static let words = Form.allCases.map(\.rawValue) + ["color", "UTC", "year", "uid"]

    var form = Form.threadtime
    /// Colours also where the output is no terminal.
    var isColoured = false
    var isUTC = false
    var hasYear = false
    /// The agent's name in each line also when there is just one.
    var namesAgent = false

    init(form: Form) { self.form = form }

    /// - Parameter words: what followed `-v`, also several separated by commas.
    /// - Throws: ``CommandError`` 64 for another word.
    init(_ words: [String]) throws(CommandError) {
        for word in words.flatMap({ $0.split(separator: ",") }) {
            switch word.lowercased() {
            case "color", "colour": isColoured = true
            case "utc": isUTC = true
            case "year": hasYear = true
            case "uid": namesAgent = true
            case let name:
                guard let form = Form(rawValue: name) else {
                    throw CommandError(
                        .usage, "-v \(word) must be one of \(Self.words.joined(separator: ", "))")
                }
                self.form = form
            }
        }
    }
}
