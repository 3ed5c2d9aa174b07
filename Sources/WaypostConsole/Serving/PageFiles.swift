import Foundation
import WaypostMessages

/// The files of the page, read once: a path of a request is only looked up, so that none leads elsewhere.
struct PageFiles: Sendable {
    struct File: Sendable {
        var bytes: [UInt8]
        var type: String
        /// A name for this content, for browsers that have it already.
        var tag: String
    }

    private var files: [String: File] = [:]

    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "png": "image/png",
        "json": "application/json",
    ]

    /// - Throws: ``CommandError`` when the folder is not there.
    init(folder: URL) throws(CommandError) {
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: folder.path),
            names.contains("index.html")
        else {
            throw CommandError(
                .failed,
                "read the page from \(folder.path): there is no index.html; install it beside the program")
        }
        for name in names {
            let suffix = name.split(separator: ".").last.map(String.init) ?? ""
            guard let type = Self.types[suffix],
                let data = try? Data(contentsOf: folder.appendingPathComponent(name))
            else { continue }
            let bytes = Array(data)
            let file = File(
                bytes: bytes, type: type, tag: "\"\(SHA256.label(SHA256.digest(of: bytes)).suffix(32))\"")
            files["/" + name] = file
            if name == "index.html" { files["/"] = file }
        }
    }

    subscript(path: String) -> File? { files[path] }
}
