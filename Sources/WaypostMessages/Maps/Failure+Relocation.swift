package import Waypost

extension Failure {
    /// A document whose entry, or whose entries together, are not a map.
    package init(_ error: RelocationError) { self.init(error.code, error.description) }
}
