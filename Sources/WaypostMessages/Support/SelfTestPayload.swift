/// What an agent, or the doctor in its name, sends to itself.
package enum SelfTestPayload {
    /// The beginning of every ping, also of one of an earlier connection that the broker delivers late.
    private static let pingPrefix = Array(#"{"id":"self-test-"#.utf8)

    /// For the echo topic.
    package static func echo(boot: String, nonce: String) -> [UInt8] {
        Array(#"{"boot":"\#(boot)","nonce":"\#(nonce)"}"#.utf8)
    }

    /// For the command topic; its id keeps it from being a command.
    package static func ping(nonce: String) -> [UInt8] {
        pingPrefix + Array(#"\#(nonce)","type":"ping"}"#.utf8)
    }

    /// Whether a payload is such a ping.
    package static func isPing(_ payload: [UInt8]) -> Bool { payload.starts(with: pingPrefix) }
}
