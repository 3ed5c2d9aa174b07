import CMosquitto
import Glibc

/// What libmosquitto's callbacks leave behind: copies, to be looked at when the call that ran them has returned.
///
/// Callbacks run under libmosquitto's own mutex, so they do nothing else.
///
/// Each leaves `errno` at `EAGAIN`: that makes `mosquitto_loop_read` return after the packet it is at, instead of
/// reading on by the length of its queues. What has no callback does not come to the library, see `FrameGuard`.
final class CallbackSink {
    struct Connack {
        var code: UInt8
        var sessionPresent: Bool
        var receiveMaximum: UInt16?
        var maximumPacketSize: UInt32?
        var detail: String?
        var features = BrokerFeatures()
    }

    var messages: [MQTTMessage] = []
    /// That of the last message: most have the same.
    private var topic = ""
    /// Whether the packet that is being read has the DUP flag, which the library does not hand on.
    var isDuplicate = false
    var acknowledgementsOwed = 0
    var settled: [(id: UInt16, code: UInt8)] = []
    var connack: Connack?
    var subacks: [(id: Int32, code: UInt8)] = []
    /// A v5 reason code from 0x80, or one of libmosquitto's errors below that.
    var endCode: Int32?
    /// Rises with every packet that had a callback: a read that leaves it as it was found nothing.
    var progress = 0
    /// What the library logged as a warning or an error, a few lines at most.
    var logLines: [String] = []
    /// Whether the library has made its CONNECT: behind a proxy it does so once it is through.
    private(set) var hasBegunConnect = false
    /// What OpenSSL thinks of the broker's certificate, when it did not like it.
    var certificateProblem: String?

    /// The sink of a call; libmosquitto hands back the pointer that it was made with.
    private static func of(_ context: UnsafeMutableRawPointer?) -> CallbackSink? {
        context.map { Unmanaged<CallbackSink>.fromOpaque($0).takeUnretainedValue() }
    }

    func install(on client: OpaquePointer) {
        mosquitto_user_data_set(client, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_connect_v5_callback_set(client) { _, context, code, flags, properties in
            CallbackSink.of(context)?.connected(code, flags, PropertyReader(head: properties))
        }
        mosquitto_disconnect_v5_callback_set(client) { _, context, code, _ in
            guard let sink = CallbackSink.of(context), sink.endCode == nil else { return }
            sink.completedPacket()
            sink.endCode = code
        }
        mosquitto_publish_v5_callback_set(client) { _, context, id, code, _ in
            guard let sink = CallbackSink.of(context) else { return }
            sink.completedPacket()
            sink.settled.append((UInt16(truncatingIfNeeded: id), UInt8(truncatingIfNeeded: code)))
        }
        mosquitto_subscribe_v5_callback_set(client) { _, context, id, count, codes, _ in
            guard let sink = CallbackSink.of(context) else { return }
            sink.completedPacket()
            // One filter per SUBSCRIBE; a SUBACK without any code is a no.
            let code = count > 0 ? codes?.pointee ?? 0x80 : 0x80
            sink.subacks.append((id, UInt8(truncatingIfNeeded: code)))
        }
        mosquitto_unsubscribe_v5_callback_set(client) { _, context, _, _ in
            CallbackSink.of(context)?.completedPacket()
        }
        mosquitto_message_v5_callback_set(client) { _, context, message, properties in
            guard let message else { return }
            CallbackSink.of(context)?.received(message.pointee, properties)
        }
        mosquitto_log_callback_set(client) { client, context, level, text in
            guard let text else { return }
            if level & MOSQ_LOG_DEBUG != 0, strstr(text, " sending CONNECT") != nil {
                CallbackSink.of(context)?.hasBegunConnect = true
            }
            guard level & (MOSQ_LOG_ERR | MOSQ_LOG_WARNING) != 0 else { return }
            CallbackSink.of(context)?.logged(String(cString: text), client)
        }
    }

    private func connected(_ code: Int32, _ flags: Int32, _ properties: PropertyReader) {
        connack = Connack(
            code: UInt8(truncatingIfNeeded: code), sessionPresent: flags & 1 != 0,
            receiveMaximum: properties.short(MQTT_PROP_RECEIVE_MAXIMUM),
            maximumPacketSize: properties.word(MQTT_PROP_MAXIMUM_PACKET_SIZE),
            detail: properties.string(MQTT_PROP_REASON_STRING), features: properties.brokerFeatures())
        completedPacket()
    }

    private func completedPacket() {
        progress += 1
        errno = EAGAIN
    }

    private func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
        let count = Int(message.payloadlen)
        let payload = [UInt8](UnsafeRawBufferPointer(start: message.payload, count: max(count, 0)))
        if message.qos > 0 { acknowledgementsOwed += 1 }
        if let name = message.topic, topic.withCString({ strcmp($0, name) }) != 0 {
            topic = String(cString: name)
        }
        messages.append(
            MQTTMessage(
                topic: message.topic == nil ? "" : topic, payload: payload,
                qos: message.qos > 0 ? .atLeastOnce : .atMostOnce, retain: message.retain,
                isDuplicate: isDuplicate,
                properties: properties == nil
                    ? MQTTProperties() : PropertyReader(head: properties).messageProperties()))
        completedPacket()
    }

    private func logged(_ text: String, _ client: OpaquePointer?) {
        guard logLines.count < 8 else { return }
        logLines.append(text)
        // The session is still there now; when the call returns it is freed.
        if certificateProblem == nil { certificateProblem = CertificateProblem.of(client) }
    }
}
