/// Small files on a disk that loses its power: what was not synced is lost, kept or torn then.
///
/// As POSIX has it: a sync of a file makes its text durable, and one of its folder that it is there, under its name.
struct WorldFiles: Codable {
    private struct File: Codable {
        /// Another one with each change.
        var mark: UInt64
        var text: String
        var durable = ""
        /// Whether anybody may write it.
        var isOpen = false
    }

    private enum Change: Codable {
        case put(String, Int)
        case move(String, to: String)

        var path: String {
            switch self {
            case .put(let path, _), .move(let path, _): path
            }
        }

        func apply(to names: inout [String: Int]) {
            switch self {
            case .put(let path, let file): names[path] = file
            case .move(let path, let place):
                names[place] = names[path]
                names[path] = nil
            }
        }
    }

    private var files: [Int: File] = [:]
    private var names: [String: Int] = [:]
    private var durableNames: [String: Int] = [:]
    /// What folders do not hold durably yet, in order.
    private var changes: [Change] = []
    private var last: UInt64 = 0

    private static func folder(of path: String) -> Substring {
        path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    }

    private func file(_ path: String) -> File? { names[path].flatMap { files[$0] } }

    func text(_ path: String) -> String? { file(path)?.text }
    func mark(_ path: String) -> UInt64? { file(path)?.mark }
    func isOpen(_ path: String) -> Bool { file(path)?.isOpen ?? false }

    private mutating func change(_ change: Change) {
        change.apply(to: &names)
        changes.append(change)
    }

    /// Writes a file anew, or what there is of it.
    mutating func put(_ path: String, _ text: String, isOpen: Bool = false, inPlace: Bool = false) {
        last += 1
        if inPlace, let number = names[path] {
            let durable = files[number]?.durable ?? ""
            files[number] = File(mark: last, text: text, durable: durable, isOpen: isOpen)
            return
        }
        files[Int(last)] = File(mark: last, text: text, isOpen: isOpen)
        change(.put(path, Int(last)))
    }

    /// False when there is nothing to move.
    mutating func move(_ path: String, to place: String) -> Bool {
        guard names[path] != nil else { return false }
        change(.move(path, to: place))
        return true
    }

    /// - Parameter path: that of a file, or of a folder with `/` at its end.
    mutating func sync(_ path: String) {
        if let number = names[path], let file = files[number] {
            files[number]?.durable = file.text
            return
        }
        for change in changes where Self.folder(of: change.path) == path { change.apply(to: &durableNames) }
        changes.removeAll { Self.folder(of: $0.path) == path }
    }

    mutating func syncAll() {
        (durableNames, changes) = (names, [])
        files = files.mapValues { file in
            var file = file
            file.durable = file.text
            return file
        }
    }

    /// The power goes: of each folder there are some of its changes, up to one, and of each text any part.
    mutating func lose(_ draws: inout Draws) {
        for folder in Set(changes.map { Self.folder(of: $0.path) }).sorted() {
            let own = changes.filter { Self.folder(of: $0.path) == folder }
            for change in own.prefix(Int.random(in: 0...own.count, using: &draws)) {
                change.apply(to: &durableNames)
            }
        }
        (names, changes) = (durableNames, [])
        for number in files.keys.sorted() {
            guard names.values.contains(number), let file = files[number] else {
                files[number] = nil
                continue
            }
            guard file.text != file.durable else { continue }
            let left =
                switch Int.random(in: 0...2, using: &draws) {
                case 0: file.durable
                case 1: String(file.text.prefix(Int.random(in: 0...file.text.count, using: &draws)))
                default: file.text
                }
            files[number]?.text = left
            files[number]?.durable = left
        }
    }
}
