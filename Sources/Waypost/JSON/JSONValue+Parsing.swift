extension JSONValue {
    /// Reads one JSON text, strictly as RFC 8259 has it.
    ///
    /// Duplicate keys, a byte order mark, invalid UTF-8, half surrogate pairs and texts beyond the limits are errors.
    package init(parsing bytes: UnsafeRawBufferPointer, limits: JSONLimits = .protocolDefaults)
        throws(JSONError)
    {
        var parser = JSONParser(bytes.assumingMemoryBound(to: UInt8.self), limits: limits)
        self = try parser.document()
    }

    /// Reads one JSON text from bytes.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .protocolDefaults) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            return try parser.document()
        }
    }

    /// Reads one JSON text from bytes: the members of an object in their order, or what it is when it is no object.
    ///
    /// For objects with few members, which it takes less time to look through than to make a dictionary of.
    package static func members(
        parsing bytes: [UInt8], limits: JSONLimits
    ) throws(JSONError) -> (members: [(key: String, value: JSONValue)], other: JSONValue?) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            if let members = try parser.members() { return (members, nil) }
            parser = JSONParser(buffer, limits: limits)
            return ([], try parser.document())
        }
    }

    /// Reads one JSON text from any collection of bytes.
    public init(
        parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) {
        try self.init(parsing: Array(bytes), limits: limits)
    }

    /// Reads one JSON text from a string.
    public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}
