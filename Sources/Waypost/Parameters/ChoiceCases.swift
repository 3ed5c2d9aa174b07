/// The cases of an enumeration, also of one that does not list them as `CaseIterable`.
enum ChoiceCases {
    /// All cases in their order; nil where they are not known.
    static func all<Choice: RawRepresentable>(of type: Choice.Type) -> [Choice]? {
        guard let count = count(of: type) else { return nil }
        let cases: [Choice] =
            switch MemoryLayout<Choice>.size {
            case 0 where count == 1: [unsafeBitCast((), to: Choice.self)]
            // Without values that cases carry along, a case is its number, in as few bytes as hold the last one.
            case 1: (0..<count).map { unsafeBitCast(UInt8($0), to: Choice.self) }
            default: []
            }
        return cases.count == count ? cases : nil
    }

    /// How many cases an enumeration has, none of which carries a value along; nil for every other type, and for more
    /// than 256.
    ///
    /// Read from what the compiler writes about a type (swift/docs/ABI/TypeMetadata.rst): the kind, then the descriptor;
    /// in that of an enumeration the sixth and the seventh number are the counts of cases with and without such values.
    private static func count(of type: Any.Type) -> Int? {
        #if _ptrauth(_arm64e)
        // The pointer to the descriptor is signed there.
        return nil
        #else
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        guard metadata.load(as: UInt.self) == 0x201 else { return nil }
        let descriptor = metadata.load(fromByteOffset: MemoryLayout<UInt>.size, as: UnsafeRawPointer.self)
        let withValues = descriptor.load(fromByteOffset: 20, as: UInt32.self) & 0xFF_FFFF
        let without = descriptor.load(fromByteOffset: 24, as: UInt32.self)
        return withValues == 0 && (1...256).contains(without) ? Int(without) : nil
        #endif
    }
}
