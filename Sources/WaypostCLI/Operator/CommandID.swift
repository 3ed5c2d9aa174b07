import Glibc

/// Makes ids for commands and documents: a ULID, so that they sort by time.
enum CommandID {
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// 48 bits of time and 80 of chance, in Crockford's base 32.
    static func make(at time: Int64 = WallClock.now()) -> String {
        let chance = (UInt64.random(in: 0..<(1 << 40)), UInt64.random(in: 0..<(1 << 40)))
        return encode(UInt64(clamping: time), 10) + encode(chance.0, 8) + encode(chance.1, 8)
    }

    /// 8 characters of chance.
    static func short() -> String { encode(UInt64.random(in: 0..<(1 << 40)), 8) }

    private static func encode(_ number: UInt64, _ width: Int) -> String {
        String(
            decoding: (0..<width).reversed().map { digits[Int(number >> (UInt64($0) * 5) & 31)] },
            as: UTF8.self)
    }
}

/// The clock on the wall.
enum WallClock {
    /// Milliseconds since 1970.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// The local date and time: `2026-11-20 23:16:39`.
    static func text(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var buffer = [CChar](repeating: 0, count: 32)
        let length = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S", &parts)
        return String(decoding: buffer.prefix(length).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
