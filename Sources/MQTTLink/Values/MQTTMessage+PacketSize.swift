extension MQTTMessage {
    /// The largest remaining length that four bytes can announce (MQTT 5.0, 2.1.4).
    private static let largestLength = 268_435_455

    /// How many bytes the PUBLISH has in all, header included; `nil` when it is more than MQTT allows.
    ///
    /// libmosquitto's own check counts too little. A packet that is one byte too large is sent, and the broker ends
    /// the connection; with two or three bytes too many an assertion in the library ends the process.
    func packetSize(_ version: MQTTVersion) -> Int? {
        var length = 2 + topic.utf8.count + payload.count
        if qos != .atMostOnce { length += 2 }
        if version == .v5 {
            let size = properties.encodedSize
            length += Self.lengthSize(size) + size
        }
        return length > Self.largestLength ? nil : 1 + Self.lengthSize(length) + length
    }

    /// The bytes of a variable byte integer (MQTT 5.0, 1.5.5).
    private static func lengthSize(_ number: Int) -> Int {
        switch number {
        case ..<128: 1
        case ..<16_384: 2
        case ..<2_097_152: 3
        default: 4
        }
    }
}

extension MQTTProperties {
    /// The bytes of all properties, each with its identifier.
    fileprivate var encodedSize: Int {
        var size = 0
        if let responseTopic { size += 3 + responseTopic.utf8.count }
        if let correlationData { size += 3 + correlationData.count }
        if messageExpiry != nil { size += 5 }
        if let contentType { size += 3 + contentType.utf8.count }
        if payloadIsUTF8 { size += 2 }
        for pair in user { size += 5 + pair.name.utf8.count + pair.value.utf8.count }
        return size
    }
}
