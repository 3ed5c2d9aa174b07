import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

/// What an ELF section could hold, made in memory.
@Suite(.patient) struct `Read linked records` {
    static let order: LinkedRecord = (
        0x7761_7970, 1,
        { LinkedRecordSink($0).add(Route("z/order", name: "Order") { _ in .pass }) }, 0, 0
    )
    static let several: LinkedRecord = (
        0x7761_7970, 1,
        { pointer in
            let sink = LinkedRecordSink(pointer)
            sink.add(Route("a/two") { _ in .pass }, Route("a/one", priority: 2) { _ in .pass })
            sink.add(ExposedService("Service", make: { 1 }) {})
        }, 0, 0
    )
    static let mustNotRun: LinkedRecordAccessor = { _ in preconditionFailure("this record was no good") }

    static func read(_ records: [LinkedRecord], dropping last: Int = 0) -> LinkedRecords {
        records.withUnsafeBytes {
            LinkedRecords(reading: UnsafeRawBufferPointer(rebasing: $0.dropLast(last)))
        }
    }

    @Test func `a record is 32 bytes, so that several have nothing between them`() {
        #expect(MemoryLayout<LinkedRecord>.size == 32)
        #expect(MemoryLayout<LinkedRecord>.stride == 32)
        #expect(MemoryLayout<LinkedRecord>.offset(of: \.accessor) == 8)
    }

    @Test(arguments: [[order, several], [several, order]].map { $0 })
    func `the order of linking does not show`(records: [LinkedRecord]) {
        let read = Self.read(records)
        #expect(read.routes.map(\.pattern) == ["a/one", "a/two", "z/order"])
        #expect(read.services.map(\.name) == ["Service"])
        #expect(read.faults.isEmpty)
    }

    @Test func `an image without records has none`() {
        let read = LinkedRecords(reading: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(read.routes.isEmpty && read.services.isEmpty && read.faults.isEmpty)
    }

    static let bad: [(LinkedRecord, LinkedRecordFault.Reason)] = [
        ((0x7079_6177, 1, mustNotRun, 0, 0), .noRecord(0x7079_6177)),
        ((0, 1, mustNotRun, 0, 0), .noRecord(0)),
        ((0x7761_7970, 0, mustNotRun, 0, 0), .unknownVersion(0)),
        ((0x7761_7970, 2, mustNotRun, 0, 0), .unknownVersion(2)),
        ((0x7761_7970, 1, mustNotRun, 1, 0), .reservedFieldInUse),
        ((0x7761_7970, 1, mustNotRun, 0, 1), .reservedFieldInUse),
    ]

    @Test(arguments: bad.indices)
    func `a bad record is reported, not called, and keeps no good one out`(index: Int) {
        let (record, reason) = Self.bad[index]
        let read = Self.read([Self.order, record, Self.several])
        #expect(read.routes.count == 3)
        #expect(read.faults == [LinkedRecordFault(offset: 32, reason: reason)])
    }

    @Test func `an accessor that is null is not called`() {
        let words: [UInt64] = [1 << 32 | 0x7761_7970, 0, 0, 0]
        let read = words.withUnsafeBytes { LinkedRecords(reading: $0) }
        #expect(read.faults == [LinkedRecordFault(offset: 0, reason: .noAccessor)])
    }

    @Test func `zeros between records are nothing`() {
        var words: [UInt64] = [0, 0, 0, 0]
        withUnsafeBytes(of: Self.order) { words += Array($0.bindMemory(to: UInt64.self)) }
        let read = words.withUnsafeBytes { LinkedRecords(reading: $0) }
        #expect(read.routes.map(\.pattern) == ["z/order"])
        #expect(read.faults.isEmpty)
    }

    @Test(arguments: [1, 8, 31])
    func `a section that ends inside a record gives those before`(missing: Int) {
        let read = Self.read([Self.order, Self.several], dropping: missing)
        #expect(read.routes.map(\.pattern) == ["z/order"])
        #expect(read.faults == [LinkedRecordFault(offset: 32, reason: .cutOff(bytes: 32 - missing))])
    }

    @Test func `a record need not be aligned`() {
        var bytes: [UInt8] = [0]
        withUnsafeBytes(of: Self.order) { bytes += $0 }
        let read = bytes.withUnsafeBytes {
            LinkedRecords(reading: UnsafeRawBufferPointer(rebasing: $0.dropFirst()))
        }
        #expect(read.routes.map(\.pattern) == ["z/order"])
    }

    @Test func `random bytes are faults and nothing worse`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                UInt8.random(in: 1...255, using: &generator)
            }
            let read = bytes.withUnsafeBytes { LinkedRecords(reading: $0) }
            #expect(read.faults.count == (bytes.count + 31) / 32)
        }
    }

    #if !Macros
    @Test func `the test bundle, where nothing is declared, has no records`() {
        #expect(LinkedRecords.ofThisImage.routes.isEmpty)
        #expect(Router().linkedFailures.isEmpty)
    }
    #endif

    @Test func `one declaration that is refused keeps no other out, and is reported once`() async {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        let rival: LinkedRecord = (
            0x7761_7970, 1,
            {
                LinkedRecordSink($0).add(
                    Route("z/order", name: "Rival") { _ in .pass }, Route("z/:") { _ in .pass })
            },
            0, 0
        )
        let records = Self.read([rival, Self.order, Self.several, (1, 1, Self.mustNotRun, 0, 0)])
        router.linked.load(records, into: router)
        #expect(router.routes.map(\.path) == ["a/one", "a/two", "z/order"])
        #expect(router.services.services.map(\.name) == ["Service"])
        let failures = [
            "read the linked record at byte 96: 0x1 is not the magic number of a record",
            "register z/:: a placeholder without a name at byte 2",
            "register z/order: already held by z/order (declared for Rival)",
        ]
        #expect(router.linkedFailures.map(\.detail) == failures)
        #expect(router.linkedFailures.map(\.subject) == ["", "z/:", "z/order"])
        #expect(router.check().findings(.declaredNotRegistered).count == 3)
        let recorder = WarningRecorder()
        router.observe { recorder.take($0) }
        _ = await router.open("a/one")
        _ = await router.open("a/one")
        #expect(recorder.warnings == failures)
    }

    @Test func `who has no listener finds what could not be registered on standard error`() async throws {
        let ending = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let router = Router(configuration: RouterConfiguration(registersLinked: false))
            router.linked.load(Self.read([Self.order, Self.order]), into: router)
            _ = await router.open("z/order")
            _ = await router.open("z/order")
        }
        let text = String(decoding: ending?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.split(separator: "\n").count { $0.contains("already held by z/order") } == 1, "\(text)")
    }

    @Test func `several threads that come first register once`() async {
        for _ in 0..<20 {
            let router = Router(configuration: RouterConfiguration(registersLinked: false))
            let records = Self.read([Self.order, Self.several])
            let counts = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        router.linked.load(records, into: router)
                        return router.routeCount
                    }
                }
                return await group.reduce(into: [Int]()) { $0.append($1) }
            }
            #expect(counts == Array(repeating: 3, count: 8))
            #expect(router.linkedFailures.isEmpty)
        }
    }

    @Test func `a conflict by hand is an error, for what is declared was there first`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        router.linked.load(Self.read([Self.order]), into: router)
        #expect(throws: RegistrationError.conflict(pattern: "z/order", heldBy: "z/order")) {
            try router.register("z/order") { _ in .pass }
        }
        try router.register("z/order", name: "Mine", replacing: true) { _ in .pass }
        #expect(router.routes.map(\.className) == ["Mine"])
    }
}
