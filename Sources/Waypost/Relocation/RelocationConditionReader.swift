/// Reads the `when` of a relocation entry.
///
/// What is not known here or has the wrong type makes the entry inactive; it never makes it unconditional.
struct RelocationConditionReader {
    /// Why a condition can't be used.
    struct Fault: Error {
        let reason: String
    }

    /// The most labels, values of one, locales, and targets.
    static let maximumCount = 32

    /// The longest text of a label, a locale, a salt or a name, in bytes.
    static let maximumBytes = 128

    /// Makes a target of its text.
    let target: (String) throws(Fault) -> RelocationTarget

    /// The condition of an entry, or why it can't be used.
    ///
    /// - Parameter target: Makes a target of its text; nil where there can be none.
    static func condition(
        of entry: RelocationEntry, target: @escaping (String) throws(RelocationError) -> RelocationTarget?
    ) -> (condition: RelocationCondition?, fault: String?) {
        guard let json = entry.when else { return (nil, nil) }
        let reader = RelocationConditionReader { (text) throws(Fault) in
            do throws(RelocationError) {
                if let target = try target(text) { return target }
            } catch {
                throw Fault(reason: "when.targets: \(error.detail)")
            }
            throw Fault(reason: "when.targets is only allowed in a redirect")
        }
        do throws(Fault) { return (try reader.read(json), nil) } catch { return (nil, error.reason) }
    }

    func read(_ json: JSONValue) throws(Fault) -> RelocationCondition {
        var condition = RelocationCondition()
        for (key, value) in try members(json, "when").sorted(by: { $0.key < $1.key }) {
            switch key {
            case "build":
                let text = try self.text(value, "when.build")
                guard let range = VersionRange(text) else {
                    throw Fault(
                        reason: "when.build is \(text.cut(to: 64)); it must be a range like >=2.1 <3")
                }
                condition.build = (range, text)
            case "locale": condition.locales = try texts(value, "when.locale")
            case "labels":
                let labels = try members(value, "when.labels")
                for (name, value) in labels.sorted(by: { $0.key < $1.key }) {
                    let place = "when.labels.\(name.cut(to: 64))"
                    guard name.utf8.count <= Self.maximumBytes else {
                        throw Fault(reason: "\(place): the name has more than \(Self.maximumBytes) bytes")
                    }
                    condition.labels.append((name, try texts(value, place)))
                }
            case "after": condition.after = try time(value, "when.after")
            case "before": condition.before = try time(value, "when.before")
            case "share": condition.share = try share(value)
            case "targets": condition.variants = try variants(value)
            default: throw Fault(reason: "when.\(key.cut(to: 64)) is unknown in this build")
            }
        }
        return condition
    }

    private func share(
        _ json: JSONValue
    ) throws(Fault) -> (draw: RelocationShare, end: UInt64, percent: String) {
        let members = try members(json, "when.share", ["percent", "salt", "by"])
        let end = try buckets(members["percent"], "when.share.percent")
        return (try draw(members, "when.share"), end, members["percent"]?.text ?? "")
    }

    private func variants(
        _ json: JSONValue
    ) throws(Fault) -> (draw: RelocationShare, list: [RelocationCondition.Variant]) {
        let members = try members(json, "when.targets", ["of", "salt", "by"])
        guard case .array(let elements) = members["of"], !elements.isEmpty else {
            throw Fault(reason: "when.targets.of must be an array of targets")
        }
        guard elements.count <= Self.maximumCount else {
            throw Fault(reason: "when.targets.of has more than \(Self.maximumCount) targets")
        }
        var list: [RelocationCondition.Variant] = []
        var end: UInt64 = 0
        for (number, element) in elements.enumerated() {
            let place = "when.targets.of[\(number)]"
            let members = try self.members(element, place, ["targetPath", "percent"])
            end += try buckets(members["percent"], "\(place).percent")
            guard end <= RelocationShare.buckets else {
                throw Fault(reason: "when.targets.of has more than 100 percent")
            }
            let text = try text(
                members["targetPath"] ?? .null, "\(place).targetPath", maximum: RoutePattern.maximumBytes)
            list.append(.init(target: try target(text), end: end))
        }
        return (try draw(members, "when.targets"), list)
    }

    private func draw(
        _ members: [String: JSONValue], _ place: String
    ) throws(Fault) -> RelocationShare {
        let salt = try text(members["salt"] ?? .null, "\(place).salt")
        let by = try members["by"].map { json throws(Fault) in try text(json, "\(place).by") } ?? "agent"
        return RelocationShare(salt: salt, key: by == "agent" ? .agent : .parameter(by))
    }

    /// A percentage as a number of buckets.
    private func buckets(_ json: JSONValue?, _ place: String) throws(Fault) -> UInt64 {
        let percent = json?.doubleValue ?? -1
        let scaled = (percent * 1000).rounded()
        // The nearest number with three decimals, and only what sums of such numbers leave over beside it.
        guard (0...100).contains(percent), scaled > 0 || percent == 0,
            abs(scaled / 1000 - percent) <= 4 * percent.ulp
        else {
            throw Fault(reason: "\(place) must be a number from 0 to 100 with at most three decimals")
        }
        return UInt64(scaled)
    }

    // MARK: Fields

    private func members(
        _ json: JSONValue, _ place: String, _ known: Set<String>? = nil
    ) throws(Fault) -> [String: JSONValue] {
        guard case .object(let members) = json else {
            throw Fault(reason: "\(place) is \(json.kind); it must be an object")
        }
        guard members.count <= Self.maximumCount else {
            throw Fault(reason: "\(place) has more than \(Self.maximumCount) members")
        }
        if let known, let other = members.keys.filter({ !known.contains($0) }).min() {
            throw Fault(reason: "\(place).\(other.cut(to: 64)) is unknown in this build")
        }
        return members
    }

    private func text(
        _ json: JSONValue, _ place: String, maximum: Int = Self.maximumBytes
    ) throws(Fault) -> String {
        guard case .string(let text) = json, !text.isEmpty else {
            throw Fault(reason: "\(place) is \(json.kind); it must be a text")
        }
        guard text.utf8.count <= maximum else {
            throw Fault(reason: "\(place) has more than \(maximum) bytes")
        }
        return text
    }

    /// One text or several.
    private func texts(_ json: JSONValue, _ place: String) throws(Fault) -> [String] {
        guard case .array(let elements) = json else { return [try text(json, place)] }
        guard (1...Self.maximumCount).contains(elements.count) else {
            throw Fault(
                reason: "\(place) holds \(elements.count) texts; it must hold 1 to \(Self.maximumCount)")
        }
        var texts: [String] = []
        for element in elements { texts.append(try text(element, place)) }
        return texts
    }

    private func time(_ json: JSONValue, _ place: String) throws(Fault) -> Int64 {
        guard case .int(let time) = json, time >= 0 else {
            throw Fault(reason: "\(place) is \(json.kind); it must be milliseconds since 1970")
        }
        return time
    }
}
