import Foundation
import Synchronization
import Waypost

/// Writes down what was on the wire, a line a message, as `scripts/check payloads` reads it.
public final class WireCapture: Sendable {
    /// The capture into the file that `WAYPOST_WIRE_CAPTURE` names, which every test process adds to; nil without.
    public static let shared: WireCapture? = ProcessInfo.processInfo.environment["WAYPOST_WIRE_CAPTURE"]
        .flatMap { $0.isEmpty ? nil : try? WireCapture(path: $0) }

    private let file: Mutex<FileHandle>

    /// A capture at the end of the file, which is made when it is missing.
    public init(path: String) throws {
        // Each line goes out in one write at the end, so that processes do not cut each other's lines.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        file = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    }

    /// Adds a message; bytes that are not UTF-8 are replaced, for a capture is text.
    public func take(topic: String, payload: [UInt8]) {
        let line: JSONValue = [
            "topic": .string(topic), "payload": .string(String(decoding: payload, as: UTF8.self)),
        ]
        let bytes = line.serialized() + [UInt8(ascii: "\n")]
        file.withLock { try? $0.write(contentsOf: Data(bytes)) }
    }
}
