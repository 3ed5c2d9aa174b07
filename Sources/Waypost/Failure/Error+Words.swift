#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Error {
    /// What an error says to people: for those of other libraries and of apps too, which have no text of ours.
    ///
    /// It has no value that was read or written, for that may be a secret.
    package var words: String {
        switch self {
        case let error as EncodingError: error.reason
        case let error as DecodingError: error.place.isEmpty ? error.reason : "\(error.place) \(error.reason)"
        case is CancellationError: "it was cancelled"
        default:
            (self as? any LocalizedError)?.errorDescription
                ?? (self as? any CustomStringConvertible)?.description ?? String(describing: self)
        }
    }
}
