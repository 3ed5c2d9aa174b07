import Glibc

/// A file descriptor, written to its end.
enum Descriptor {
    /// Writes all bytes; returns 0, or the `errno` that says why not all of them are written.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count <= 0 else {
                rest = rest.dropFirst(count)
                continue
            }
            switch count == 0 ? EIO : errno {
            case EINTR: continue
            case EAGAIN:
                // Another process made the descriptor non-blocking; wait until it takes more.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            case let error: return error
            }
        }
        return 0
    }

    /// What `errno` means, in the system's words.
    static func text(of error: Int32) -> String { String(cString: strerror(error)) }

    /// Opens those of standard input, output and error that were closed when the process began.
    ///
    /// Otherwise the next file or socket would get that number, and with it what is printed. What stands in their place
    /// can be neither read nor printed to, so that both still fail.
    static func fillStandard() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // open takes the lowest number that is free.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
