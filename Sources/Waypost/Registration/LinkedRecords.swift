internal import CRouteRecords

/// What was declared without a list: by `@Routable`, `#route` and `@Service`, or by a ``LinkedRecord`` by hand.
///
/// A router reads them by itself (``RouterConfiguration/registersLinked``); a registry without a router takes
/// `try registry.expose(LinkedRecords.ofThisImage.services)`.
struct LinkedRecords: Sendable {
    /// The declared routes, by pattern and name: the order of linking means nothing.
    let routes: [Route]
    /// The declared services, by name.
    let services: [ExposedService]
    /// What in the section is not a valid record.
    let faults: [LinkedRecordFault]

    /// The records of the image that holds this library: the executable, unless Waypost is linked dynamically.
    ///
    /// Bounds of a section are per image. A plug-in that is loaded at run time has its own, and hands its
    /// records over with ``init(reading:)``.
    static let ofThisImage: LinkedRecords = {
        let bytes = waypost_records_of_this_image()
        return LinkedRecords(reading: UnsafeRawBufferPointer(start: bytes.start, count: bytes.count))
    }()

    /// The records in these bytes.
    ///
    /// What is not a record of a known version is ignored and reported in ``faults``. The accessors of the
    /// others are called, so the bytes must come from a section that a linker made.
    init(reading bytes: UnsafeRawBufferPointer) {
        let stride = MemoryLayout<LinkedRecord>.stride
        var contents = LinkedRecordSink.Contents()
        var faults: [LinkedRecordFault] = []
        var offset = 0
        while offset + stride <= bytes.count {
            let record = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + stride])
            do throws(LinkedRecordFault) {
                if let accessor = try Self.accessor(of: record, at: offset) {
                    let taken = LinkedRecordSink.Contents.taken(from: accessor)
                    contents.routes += taken.routes
                    contents.services += taken.services
                }
            } catch {
                faults.append(error)
            }
            offset += stride
        }
        if offset < bytes.count {
            faults.append(LinkedRecordFault(offset: offset, reason: .cutOff(bytes: bytes.count - offset)))
        }
        routes = contents.routes.sorted {
            ($0.pattern?.rawValue ?? "", $0.name ?? "", $1.priority)
                < ($1.pattern?.rawValue ?? "", $1.name ?? "", $0.priority)
        }
        services = contents.services.sorted { $0.name < $1.name }
        self.faults = faults
    }

    /// The accessor of a record; nil for the zeros that a linker may put between two records.
    private static func accessor(
        of record: UnsafeRawBufferPointer, at offset: Int
    ) throws(LinkedRecordFault) -> LinkedRecordAccessor? {
        func word<T: BitwiseCopyable>(_ field: PartialKeyPath<LinkedRecord>, as type: T.Type) -> T {
            record.loadUnaligned(fromByteOffset: MemoryLayout<LinkedRecord>.offset(of: field) ?? 0, as: type)
        }
        guard record.contains(where: { $0 != 0 }) else { return nil }
        let magic = word(\.magic, as: UInt32.self)
        guard magic == self.magic else { throw LinkedRecordFault(offset: offset, reason: .noRecord(magic)) }
        let version = word(\.version, as: UInt32.self)
        guard version == self.version else {
            throw LinkedRecordFault(offset: offset, reason: .unknownVersion(version))
        }
        guard word(\.reserved1, as: UInt.self) == 0, word(\.reserved2, as: UInt.self) == 0 else {
            throw LinkedRecordFault(offset: offset, reason: .reservedFieldInUse)
        }
        guard word(\.accessor, as: UInt.self) != 0 else {
            throw LinkedRecordFault(offset: offset, reason: .noAccessor)
        }
        // Not null, and behind a magic number and a version that only a record of ours has.
        return word(\.accessor, as: LinkedRecordAccessor.self)
    }

    /// "wayp" in ASCII, most significant byte first.
    static let magic: UInt32 = 0x7761_7970
    static let version: UInt32 = 1
}
