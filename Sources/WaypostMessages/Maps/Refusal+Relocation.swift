package import Waypost

extension Refusal {
    /// The verdict on a document whose entry, or whose entries together, are not a map.
    package init(_ error: RelocationError) {
        let code: Code =
            switch error.code {
            case .badField: .badField
            case .cycle: .cycle
            case .chain: .chain
            case .notAllowed: .notAllowed
            case .tooLarge: .tooLarge
            }
        self.init(code, error.description)
    }
}
