import Glibc

/// `ECONNRESET`, named so that the state machine needs no C library.
let connectionReset: Int32 = ECONNRESET

/// The codes that say that no way leads to an address.
let unreachable: Set<Int32> = [ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL]

extension DisconnectReason.Cause {
    /// The cause for an `errno`, in the system's words.
    static func system(_ code: Int32) -> Self {
        // strerror's text for a known number is a constant; only an unknown one is formatted.
        guard let text = strerror(code) else { return .network(code: code, text: "error") }
        return .network(code: code, text: String(cString: text))
    }
}
