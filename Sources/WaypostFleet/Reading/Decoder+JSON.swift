package import Waypost

extension Decoder {
    /// A value from JSON as agents send it.
    package func read<Value>(_ body: (JSONValue) throws(Failure) -> Value) throws -> Value {
        let json = try JSONValue(from: self)
        do throws(Failure) {
            return try body(json)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: codingPath, debugDescription: error.detail))
        }
    }
}
