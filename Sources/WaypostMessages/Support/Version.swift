/// The versions of this build and of the protocol.
package enum Version {
    /// The version of this build, as it stands in presence and in `waypost --version`.
    package static let current = "0.2.0"
    /// The version of the wire protocol that this build speaks: `v` of a command or a map.
    static let wireProtocol: Int64 = 1
}
