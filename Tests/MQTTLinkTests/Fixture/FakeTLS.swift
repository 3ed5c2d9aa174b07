import COpenSSL
import Glibc
import TestSupport

/// The broker's side of TLS, where each write is one record: so a test says where records are cut.
///
/// `@unchecked Sendable`: OpenSSL counts the references to a context with atomics, and it is not changed any more.
final class FakeTLS: @unchecked Sendable {
    private let context: OpaquePointer

    /// What it wants of a client.
    enum Demand: Sendable {
        case nothing
        /// A certificate, in the version of TLS that refuses within the handshake, and in the one that does so after it.
        case certificate(version: Int32)
    }

    init(
        _ certificates: TestCertificates, server: String = "server", demand: Demand = .nothing
    ) throws {
        // OpenSSL writes with write(2), and a client may go at any time.
        signal(SIGPIPE, SIG_IGN)
        guard let context = SSL_CTX_new(TLS_server_method()),
            SSL_CTX_use_certificate_chain_file(context, certificates["\(server).pem"]) == 1,
            SSL_CTX_use_PrivateKey_file(context, certificates["\(server).key"], SSL_FILETYPE_PEM) == 1
        else { throw FakeBroker.Failure(code: EINVAL) }
        if case .certificate(let version) = demand {
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        }
        self.context = context
    }

    deinit { SSL_CTX_free(context) }

    /// Sets up a session; nil when the client does not want it.
    func accept(_ socket: Int32) -> Session? {
        guard let session = SSL_new(context) else { return nil }
        guard SSL_set_fd(session, socket) == 1, SSL_accept(session) == 1 else {
            SSL_free(session)
            return nil
        }
        return Session(session)
    }

    /// `@unchecked Sendable`: it is used by the thread of its connection only.
    final class Session: @unchecked Sendable {
        private let pointer: OpaquePointer

        fileprivate init(_ pointer: OpaquePointer) { self.pointer = pointer }

        deinit { SSL_free(pointer) }

        func read(_ byte: inout UInt8) -> Int { Int(SSL_read(pointer, &byte, 1)) }

        func write(_ bytes: UnsafeRawBufferPointer) -> Int {
            Int(SSL_write(pointer, bytes.baseAddress, Int32(min(bytes.count, 1 << 14))))
        }

        func end() { SSL_shutdown(pointer) }
    }
}
