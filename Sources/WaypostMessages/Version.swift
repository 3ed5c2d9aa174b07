/// The version of this build, as it stands in presence and in `waypost --version`.
package enum Version {
    package static let current = "0.1.0"
}
