import FoundationEssentials

/// Keeps the last good table in a file, so that it is there after a restart without a network.
///
/// The file holds the app's version, the routes and the relocation layers, and a digest over them. It is written
/// to another name and moved, so a crash leaves the old one or the new one. A file that is damaged, or from
/// another version, is reported and otherwise ignored.
public struct RouteCache: Sendable {
    /// What is kept.
    public struct Contents: Sendable, Hashable {
        /// The version of the app that wrote it.
        public var version: String
        /// The routes that were registered.
        public var routes: [RouteDescription]
        /// The relocation layers that were in force.
        public var layers: [RelocationLayer]

        /// Contents by their parts.
        package init(version: String, routes: [RouteDescription], layers: [RelocationLayer]) {
            self.version = version
            self.routes = routes
            self.layers = layers
        }
    }

    /// The result of reading the file.
    public enum Reading: Sendable, Hashable {
        /// The contents, whole and of this version.
        case restored(Contents)
        /// There is no file.
        case missing
        /// The file is from another version.
        case otherVersion(String)
        /// The file can't be read, or its digest does not match; the sentence says which.
        case damaged(String)
    }

    /// Where the file lies.
    public let path: String

    /// A cache in that file.
    public init(path: String) {
        self.path = path
    }

    /// Writes the contents in place of what was there.
    ///
    /// - Throws: The operating system's error.
    package func save(_ contents: Contents) throws {
        let body = Self.json(contents)
        let file: JSONValue = ["body": body, "digest": .string(Self.digest(body))]
        try Data(file.serialized()).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    /// Reads the contents, if they are whole and of that version.
    package func load(version: String) -> Reading {
        guard FileManager.default.fileExists(atPath: path) else { return .missing }
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            return .damaged("read \(path): \(error)")
        }
        do throws(JSONError) {
            let file = try JSONValue(parsing: Array(data), limits: .trustedFile)
            guard let body = file["body"], let digest = file["digest"]?.stringValue else {
                return .damaged("read \(path): body or digest is missing")
            }
            guard Self.digest(body) == digest else {
                return .damaged("read \(path): the digest does not match")
            }
            return Self.contents(body, version: version, path: path)
        } catch {
            return .damaged("read \(path): \(error)")
        }
    }

    private static func contents(_ body: JSONValue, version: String, path: String) -> Reading {
        let written = body["version"]?.stringValue ?? ""
        guard written == version else { return .otherVersion(written) }
        do {
            var layers: [RelocationLayer] = []
            for layer in body["layers"]?.arrayValue ?? [] {
                var entries: [RelocationEntry] = []
                for (index, entry) in (layer["entries"]?.arrayValue ?? []).enumerated() {
                    entries.append(try RelocationEntry(entry, index: index))
                }
                layers.append(RelocationLayer(name: layer["name"]?.stringValue ?? "", entries: entries))
            }
            let routes = try RouteDescription.list(body["routes"] ?? [])
            return .restored(Contents(version: version, routes: routes, layers: layers))
        } catch {
            return .damaged("read \(path): \(error)")
        }
    }

    private static func json(_ contents: Contents) -> JSONValue {
        [
            "version": .string(contents.version), "routes": .array(contents.routes.map(\.json)),
            "layers": .array(
                contents.layers.map {
                    ["name": .string($0.name), "entries": .array($0.entries.map(\.json))]
                }),
        ]
    }

    /// FNV-1a over the serialized body: finds torn and rotten files, and is no protection against a forger, who
    /// could write the file as well.
    private static func digest(_ body: JSONValue) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in body.serialized() { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return "fnv1a64:" + String(hash, radix: 16)
    }
}

extension Router {
    /// Writes the routes and relocation layers in force to a cache.
    public func save(to cache: RouteCache, version: String) throws {
        try cache.save(.init(version: version, routes: routes, layers: layers))
    }

    /// Puts the relocation layers of a cache in force; the routes come from this build's code.
    ///
    /// - Returns: What the cache held; layers that this build refuses make it `damaged`, and nothing changes.
    @discardableResult
    public func restore(from cache: RouteCache, version: String) -> RouteCache.Reading {
        let reading = cache.load(version: version)
        guard case .restored(let contents) = reading else { return reading }
        do throws(RelocationError) {
            try relocate(contents.layers)
            return reading
        } catch {
            return .damaged("restore \(cache.path): \(error)")
        }
    }
}
