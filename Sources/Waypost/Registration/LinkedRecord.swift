/// One record of the ELF section `waypost_records`, which declares routes and services without a list.
///
/// The macros emit these; the same by hand is a constant with this type and both attributes:
///
///     @section("waypost_records") @used
///     private let orderRoutes: LinkedRecord = (
///         0x7761_7970, 1, { LinkedRecordSink($0).add(Route("myapp://orders/:id", to: OrderPage.self)) }, 0, 0
///     )
///
/// It is a tuple because SE-0492 admits no structure, its size is 32 bytes on 64-bit platforms, and its fields
/// must be literals: the compiler writes them into the file, and nothing runs at start-up. Without `@used` the
/// optimiser drops the record. Operators and other constants are refused, also as `magic`.
///
/// | Field | |
/// |---|---|
/// | `magic` | `0x7761_7970`, "wayp": marks a record |
/// | `version` | 1; a record of another version is ignored and reported |
/// | `accessor` | passes the declarations to its sink |
/// | `reserved1`, `reserved2` | 0 |
public typealias LinkedRecord = (
    magic: UInt32, version: UInt32, accessor: LinkedRecordAccessor, reserved1: UInt, reserved2: UInt
)

/// The function in a record: makes a ``LinkedRecordSink`` of the pointer and adds what it declares.
///
/// It captures nothing, so it lies in the file as an address.
public typealias LinkedRecordAccessor = @convention(c) (_ sink: UnsafeMutableRawPointer) -> Void

/// Takes the declarations of one record.
///
/// It is valid while the accessor runs, and only there.
@safe public struct LinkedRecordSink {
    struct Contents {
        var routes: [Route] = []
        var services: [ExposedService] = []
    }

    // Alive as long as the accessor runs, which does not keep the sink; `init` is the one step to trust.
    private let contents: UnsafeMutablePointer<Contents>

    /// The sink behind the pointer that an accessor was given.
    public init(_ pointer: UnsafeMutableRawPointer) {
        // Only `Contents.taken` calls accessors, and passes the address of its own `Contents`.
        contents = pointer.assumingMemoryBound(to: Contents.self)
    }

    /// Declares routes.
    public func add(_ routes: Route...) {
        contents.pointee.routes += routes
    }

    /// Declares a service.
    public func add(_ service: ExposedService) {
        contents.pointee.services.append(service)
    }
}

extension LinkedRecordSink.Contents {
    /// What an accessor declares.
    static func taken(from accessor: LinkedRecordAccessor) -> Self {
        var contents = Self()
        withUnsafeMutablePointer(to: &contents) { accessor(UnsafeMutableRawPointer($0)) }
        return contents
    }
}
