import Configuration
import Waypost

/// A file with settings, YAML or JSON: one mapping of names to texts, numbers, truth values and lists of texts.
///
/// It is read once, for its values, its names and whether it holds a password: what was checked is what counts.
struct SettingsFile: Sendable {
    /// A setting and the line of its name.
    struct Setting: Equatable, Sendable {
        var value: SettingValue
        /// Nil in JSON.
        var line: Int?
    }

    /// Ten times what all settings with a page of comments would take; libyaml compares every `%TAG` with all others.
    private static let maximumBytes = 256 << 10
    /// Twice the longest name; a longer one would only fill the error.
    private static let maximumNameBytes = 64
    private static let textTag = "tag:yaml.org,2002:str"
    private static let oldLineEnds: [([UInt8], String)] = [
        ([0xC2, 0x85], "U+0085"), ([0xE2, 0x80, 0xA8], "U+2028"), ([0xE2, 0x80, 0xA9], "U+2029"),
    ]
    /// The tags that say of a value only what it is anyway.
    private static let knownTags: Set = [
        textTag, "tag:yaml.org,2002:int", "tag:yaml.org,2002:bool", "tag:yaml.org,2002:seq",
        "tag:yaml.org,2002:map",
    ]

    let path: String
    private(set) var settings: [String: Setting] = [:]

    /// Reads a file that only we can write, and of which, if it holds a password, only we know.
    ///
    /// - Throws: ``CommandError`` 64 naming the file, the line and what was found there.
    init(_ path: String) throws(CommandError) {
        try self.init(GuardedFile.read(path, purpose: "configuration file"), of: path)
        let hasProxyPassword = settings["proxy"]?.value.text?.contains("@") ?? false
        if settings["password"] != nil || hasProxyPassword {
            try GuardedFile.check(path, purpose: "configuration file with a password", isSecret: true)
        }
    }

    /// Reads the bytes of the file `path`: JSON when it is named so, or else YAML.
    init(_ bytes: [UInt8], of path: String) throws(CommandError) {
        self.path = path
        guard bytes.count <= Self.maximumBytes else {
            throw fault("it is longer than \(Self.maximumBytes >> 10) KiB", line: nil)
        }
        if path.hasSuffix(".json") {
            try readJSON(bytes)
        } else {
            try readYAML(bytes)
        }
    }

    /// Where a setting stands, to begin an error with.
    func place(line: Int?) -> String {
        "configuration file \(path)" + (line.map { ", line \($0)" } ?? "")
    }

    /// All values, each as a setting of this kind reads it.
    ///
    /// A path that does not begin with `/` is below the folder of the file: who reads the file may stand anywhere.
    func values(as kind: SettingValue.Kind) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        // It was read from there, or from nowhere.
        let file = (try? UserFolder.fromHere(path)) ?? path
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ""
        for (name, setting) in settings {
            let hasID = SettingNames.paths[name]
            let value = hasID.map { setting.value.below(folder, mayHaveID: $0) } ?? setting.value
            values[AbsoluteConfigKey([name])] = ConfigValue(
                value.content(as: kind), isSecret: SettingNames.secrets.contains(name))
        }
        return values
    }

    private func fault(_ text: String, line: Int?) -> CommandError {
        CommandError(.usage, "\(place(line: line)): \(text)")
    }

    private func check(_ name: String, line: Int?) throws(CommandError) {
        guard name.utf8.count <= Self.maximumNameBytes else {
            throw fault("there is no setting with a name of \(name.utf8.count) bytes", line: line)
        }
        try SettingNames.check(name, at: place(line: line))
        if let first = settings[name] {
            throw fault(
                "\(name) is set a second time" + (first.line.map { ", after line \($0)" } ?? ""), line: line)
        }
    }

    private mutating func set(_ name: String, _ value: SettingValue, line: Int?) throws(CommandError) {
        // All of them end up in C, where a text ends there.
        guard !value.texts.contains(where: { $0.utf8.contains(0) }) else {
            throw fault("\(name) holds the character NUL", line: line)
        }
        settings[name] = Setting(value: value, line: line)
    }

    /// It would not be read, and the default would hold without a notice.
    private func nested(_ name: String, line: Int?) -> CommandError {
        let name = name.utf8.count <= Self.maximumNameBytes ? name : "a name"
        return fault("\(name) is below another name; settings are not nested", line: line)
    }
}

// MARK: JSON

extension SettingsFile {
    private mutating func readJSON(_ bytes: [UInt8]) throws(CommandError) {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw fault("\(error)", line: bytes.prefix(error.offset).count { $0 == UInt8(ascii: "\n") } + 1)
        }
        guard let members = json.objectValue else {
            throw fault("it must be one JSON object, of names and values", line: nil)
        }
        for (name, member) in members.sorted(by: { $0.key < $1.key }) {
            try check(name, line: nil)
            // So programs that write JSON say that it is not set.
            if member == .null { continue }
            if let inner = member.objectValue?.keys.min() { throw nested(inner, line: nil) }
            guard let value = SettingValue(json: member) else {
                throw fault(
                    "\(name) must be a text, a number, true, false or a list of texts", line: nil)
            }
            try set(name, value, line: nil)
        }
    }
}

// MARK: YAML

extension SettingsFile {
    private mutating func readYAML(_ bytes: [UInt8]) throws(CommandError) {
        // libyaml reads YAML 1.1, which ends lines there and folds them into spaces; 1.2 does neither.
        for (end, name) in Self.oldLineEnds {
            guard let place = Self.place(of: end, in: bytes) else { continue }
            throw fault(
                "it has \(name), which ends a line in YAML 1.1 and is a character in 1.2; remove it",
                line: bytes[..<place].count { $0 == UInt8(ascii: "\n") } + 1)
        }
        var reader = YAMLReader(bytes)
        guard try next(&reader).kind == .document else {
            throw fault("it has no settings; one is written as NAME: VALUE", line: nil)
        }
        let top = try next(&reader)
        guard top.kind == .mapping else {
            throw fault("found \(top.form), where a setting is written as NAME: VALUE", line: top.line)
        }
        while case let event = try next(&reader), event.kind != .end {
            guard case .scalar(let name, _) = event.kind else {
                throw fault("found \(event.form) in the place of a name", line: event.line)
            }
            try check(name, line: event.line)
            try set(name, value(of: name, &reader), line: event.line)
        }
        _ = try next(&reader)
        let last = try next(&reader)
        guard last.kind == .streamEnd else {
            throw fault("a second document begins; settings are one document", line: last.line)
        }
    }

    /// Where these bytes stand first.
    private static func place(of wanted: [UInt8], in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBufferPointer { bytes in
            var place = 0
            while place + wanted.count <= bytes.count {
                // By index, as most files have no such byte.
                if bytes[place] == wanted[0], bytes[place...].starts(with: wanted) { return place }
                place += 1
            }
            return nil
        }
    }

    private func value(of name: String, _ reader: inout YAMLReader) throws(CommandError) -> SettingValue {
        let event = try next(&reader)
        switch event.kind {
        case .scalar(let text, let isPlain):
            return SettingValue(yaml: text, isPlain: isPlain && event.tag != Self.textTag)
        case .sequence:
            var texts: [String] = []
            while case let element = try next(&reader), element.kind != .end {
                guard case .scalar(let text, _) = element.kind else {
                    throw fault("\(name) is a list of texts; found \(element.form) in it", line: element.line)
                }
                texts.append(text)
            }
            return SettingValue(texts)
        case .mapping:
            let inner = try next(&reader)
            if case .scalar(let text, _) = inner.kind { throw nested(text, line: inner.line) }
            throw fault("\(name) is a mapping; settings are not nested", line: event.line)
        default:
            throw fault("\(name) is \(event.form); write the value itself", line: event.line)
        }
    }

    private func next(_ reader: inout YAMLReader) throws(CommandError) -> YAMLReader.Event {
        let event: YAMLReader.Event
        do {
            event = try reader.next()
        } catch {
            throw fault(error.problem, line: error.line)
        }
        // A long one is not even hashed, which takes quadratic time when it is all combining marks.
        if let tag = event.tag, tag.utf8.count > 64 || !Self.knownTags.contains(tag) {
            throw fault("the tag \(tag.cut(to: 64).debugDescription) is not supported here", line: event.line)
        }
        return event
    }
}

extension YAMLReader.Event {
    /// What it is, for an error.
    fileprivate var form: String {
        switch kind {
        case .scalar(let text, _): text.isEmpty ? "nothing" : "a text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .alias: "an alias"
        case .end, .document, .documentEnd, .streamEnd: "an end"
        }
    }
}
