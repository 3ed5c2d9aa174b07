import Glibc

/// The functions that libFuzzer calls, and what it is told about an input that breaks a law: nothing but the end.
private enum Fuzzed {
    static let target: FuzzTarget = {
        let name = getenv("WAYPOST_FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            let known = FuzzTarget.allCases.map(\.rawValue).joined(separator: " ")
            say("WAYPOST_FUZZ_TARGET is '\(name)'; known: \(known)")
            exit(64)
        }
        return target
    }()

    /// Of one input in so many all laws are looked at, for the others those that are quick.
    static let thoroughShare: UInt64 = 16
    /// One input in so many is also measured.
    static let measuredShare: UInt64 = 8_192
    /// How much slower libFuzzer's instructions make a loop over bytes; what is quadratic is so far beyond that.
    static let slowdown: Int64 = 10

    static func run(_ bytes: [UInt8]) {
        // The choice follows from the input, so that one that is a finding, or is too slow, is so again.
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        do throws(BrokenLaw) {
            if hash % thoroughShare == 0 { try target.check(bytes) } else { try target.checkQuickly(bytes) }
        } catch {
            say(
                "BROKEN LAW (\(target)): \(error.law): \(String(decoding: bytes, as: UTF8.self).debugDescription)"
            )
            abort()
        }
        guard hash % measuredShare == 0 else { return }
        let long = TimeBound.stretched(bytes, hash)
        let limit = target.timeLimit * slowdown
        guard TimeBound.best(of: 1, { target.read(long) }) > limit else { return }
        let time = TimeBound.best(of: 3) { target.read(long) }
        guard time > limit else { return }
        say(
            "TOO SLOW (\(target)): \(time / 1_000) µs for \(long.count) bytes: \(String(decoding: long.prefix(200), as: UTF8.self).debugDescription)"
        )
        abort()
    }

    static func say(_ line: String) {
        let bytes = Array(line.utf8) + [0x0A]
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

@_cdecl("LLVMFuzzerInitialize")
func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    _ = Fuzzed.target
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Fuzzed.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

#if FAST
/// Of libFuzzer: all that its own `main` does.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The package manager gives the executable this name for its `main` and leaves libFuzzer's out.
@_cdecl("FuzzTests_main")
func main(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
    var (count, arguments) = (count, arguments)
    return runDriver(&count, &arguments) { testOneInput($0, $1) }
}
#endif
