import CMosquitto
import COpenSSL
import Glibc

/// Bytes past the library, over its socket or its TLS session.
extension ClientHandle {
    /// What came of a transfer.
    enum Transfer {
        case bytes(Int)
        /// Nothing can be read or written now.
        case wouldBlock
        /// The end, or an error: the library finds it, too, and says what it is.
        case over
    }

    /// Looks at what comes next; with TLS at no more than what is in one record.
    func peek(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer(
            buffer.count, { SSL_peek($0, buffer.baseAddress, $1) },
            { recv($0, buffer.baseAddress, $1, Int32(MSG_PEEK | MSG_DONTWAIT)) })
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer(
            buffer.count, { SSL_read($0, buffer.baseAddress, $1) },
            { recv($0, buffer.baseAddress, $1, Int32(MSG_DONTWAIT)) })
    }

    /// Sends bytes; only while the library has nothing to write, and again with the same ones after `wouldBlock`.
    func send(_ bytes: [UInt8]) -> Transfer {
        bytes.withUnsafeBytes { buffer in
            transfer(
                buffer.count,
                { session, count in
                    openssl_accept_moving_buffer(session)
                    return SSL_write(session, buffer.baseAddress, count)
                }, { Glibc.send($0, buffer.baseAddress, $1, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) })
        }
    }

    /// Lets the library read bytes that were received here, and nothing of what waits in the socket.
    ///
    /// It reads them from another socket, which has the number of its own as long as that takes. Not with TLS.
    func read(received bytes: [UInt8]) -> Step {
        let number = socket
        let kind = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        var pair: [Int32] = [-1, -1]
        let kept = fcntl(number, F_DUPFD_CLOEXEC, 0)
        defer { for descriptor in pair + [kept] where descriptor >= 0 { close(descriptor) } }
        guard kept >= 0, socketpair(AF_UNIX, Int32(kind), 0, &pair) == 0,
            Glibc.write(pair[1], bytes, bytes.count) == bytes.count, Self.put(pair[0], at: number)
        else { return Step(code: MOSQ_ERR_ERRNO.rawValue, systemCode: errno) }
        let step = read()
        // Where it has found the end, it has closed that number.
        if socket == number, !Self.put(kept, at: number) {
            return Step(code: MOSQ_ERR_ERRNO.rawValue, systemCode: errno)
        }
        return step
    }

    /// Gives a descriptor another number, too.
    private static func put(_ descriptor: Int32, at number: Int32) -> Bool {
        dup2(descriptor, number) == number && fcntl(number, F_SETFD, FD_CLOEXEC) == 0
    }

    /// Lets the library read what OpenSSL has decrypted, and nothing of what waits in the socket.
    func readDecrypted() -> Step {
        guard let session, let socket = SSL_get_rbio(session), let nothing = BIO_new(BIO_s_mem()) else {
            return read()
        }
        // Each of the two calls takes over one reference and gives up the one before.
        BIO_up_ref(socket)
        SSL_set0_rbio(session, nothing)
        defer { SSL_set0_rbio(session, socket) }
        return read()
    }

    private func transfer(
        _ count: Int, _ secured: (OpaquePointer, Int32) -> Int32, _ plain: (Int32, Int) -> Int
    ) -> Transfer {
        guard let session else {
            let done = plain(socket, count)
            if done > 0 { return .bytes(done) }
            return done < 0 && (errno == EAGAIN || errno == EINTR) ? .wouldBlock : .over
        }
        ERR_clear_error()
        let done = secured(session, Int32(clamping: count))
        if done > 0 { return .bytes(Int(done)) }
        // What is left in OpenSSL's queue is for the library to report.
        let error = SSL_get_error(session, done)
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? .wouldBlock : .over
    }
}
