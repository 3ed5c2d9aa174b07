import CMosquitto
import Glibc

/// One `struct mosquitto` for one connection, from before the CONNECT to its end.
///
/// There is a fresh one for every attempt. That costs microseconds, and with it go the library's leftovers: its
/// own queue that is sent before we say so, packet ids, half-read packets, and a TLS context with old
/// certificates. The broker keeps the session by the client's id, not by this.
///
/// `@unchecked Sendable`: it is used by one thread at a time. The thread that makes it hands it over through the
/// mailbox and forgets it; from then on only the link's thread touches it, and ``StandIn`` while that is away, behind a
/// lock through which it comes back.
final class ClientHandle: @unchecked Sendable {
    let sink = CallbackSink()
    let version: MQTTVersion
    let client: OpaquePointer

    /// The proxy that the connection still has to get through; nil when it has, and without one.
    private(set) var proxy: ProxyURL?

    /// libmosquitto's and OpenSSL's one-time setup; never taken down, since another part of the process may use it.
    private static let library: Int32 = mosquitto_lib_init()

    init(clientID: String, cleanStart: Bool, version: MQTTVersion) throws(LibraryError) {
        _ = Self.library
        guard let client = mosquitto_new(clientID, cleanStart, nil) else {
            throw LibraryError(
                code: MOSQ_ERR_INVAL.rawValue, doing: "mosquitto_new for client id \"\(clientID)\"")
        }
        self.client = client
        self.version = version
        // Without this a PUBACK is on the wire before the message callback ran.
        mosquitto_threaded_set(client, true)
        mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, Int32(version.rawValue))
        mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1)
        // 0: no window of its own. Ours is kept by the loop, and its own would queue without a limit.
        mosquitto_max_inflight_messages_set(client, 0)
        sink.install(on: client)
    }

    deinit {
        mosquitto_destroy(client)
    }

    // MARK: Before the connect

    func set(_ credentials: Credentials) throws(LibraryError) {
        try check(
            mosquitto_username_pw_set(client, credentials.username, credentials.password),
            "mosquitto_username_pw_set")
    }

    func set(_ tls: TLSOptions) throws(LibraryError) {
        var directory = tls.caDirectory
        let usesSystem = tls.caFile == nil && directory == nil
        if usesSystem {
            try check(
                mosquitto_int_option(client, MOSQ_OPT_TLS_USE_OS_CERTS, 1), "mosquitto_tls_use_os_certs")
            // mosquitto_tls_set wants an authority even then; Debian's, Fedora's and Alpine's are all here.
            directory = "/etc/ssl/certs"
        }
        if !usesSystem || tls.certificateFile != nil {
            try check(
                mosquitto_tls_set(
                    client, tls.caFile, directory, tls.certificateFile, tls.keyFile, refusePassphrase),
                "mosquitto_tls_set with \(tls.files)")
        }
        // 1 is SSL_VERIFY_PEER; with the library's default version list TLS 1.0 and 1.1 would depend on OpenSSL's.
        try check(
            mosquitto_tls_opts_set(client, 1, tls.minimumVersion.rawValue, nil), "mosquitto_tls_opts_set")
        guard let alpn = tls.alpn else { return }
        try check(mosquitto_string_option(client, MOSQ_OPT_TLS_ALPN, alpn), "mosquitto_tls_alpn")
    }

    func set(_ proxy: ProxyURL) throws(LibraryError) {
        try check(
            mosquitto_socks5_set(
                client, proxy.host, Int32(proxy.port), proxy.credentials?.username,
                proxy.credentials?.password),
            "mosquitto_socks5_set")
        self.proxy = proxy
    }

    func set(will: MQTTMessage, delay: UInt32) throws(LibraryError) {
        var properties: OpaquePointer?
        if version == .v5 {
            let list = PropertyList(will.properties, willDelay: delay)
            try check(list.fault, "properties of the will for \(will.topic)")
            properties = list.release()
        }
        let code = will.payload.withUnsafeBytes {
            mosquitto_will_set_v5(
                client, will.topic, Int32($0.count), $0.baseAddress, Int32(will.qos.rawValue), will.retain,
                properties)
        }
        // The list is the library's only when the call succeeded.
        if code != MOSQ_ERR_SUCCESS.rawValue { mosquitto_property_free_all(&properties) }
        try check(code, "mosquitto_will_set for \(will.topic)")
    }

    /// Begins to connect without waiting; the CONNECT waits in the library's queue for the first `write`.
    ///
    /// Blocks for as long as the name takes to resolve, so a name is for a thread that may wait.
    func connect(
        host: String, port: UInt16, keepAlive: Int32, bindTo: String?, properties: borrowing PropertyList
    ) throws(LibraryError) {
        if version == .v5 {
            // The asynchronous connect takes no properties, but uses those of the last synchronous one. An empty
            // path is no address, so this leaves nothing but the properties behind.
            _ = mosquitto_connect_bind_v5(client, "", 0, keepAlive, nil, properties.head)
            sink.logLines = []
        }
        errno = 0
        let code = mosquitto_connect_bind_async(client, host, Int32(port), keepAlive, bindTo)
        let system = errno
        if code == MOSQ_ERR_ERRNO.rawValue {
            throw LibraryError(code: code, systemCode: system, doing: "connect")
        }
        try check(code, "mosquitto_connect_bind_async")
        if let end = endOfConnect(system) {
            throw LibraryError(code: MOSQ_ERR_ERRNO.rawValue, systemCode: end, doing: "connect")
        }
    }

    // MARK: While connected

    /// The socket, or -1.
    var socket: Int32 { mosquitto_socket(client) }
    var wantsWrite: Bool { mosquitto_want_write(client) }

    /// Reads what there is, a packet or a few; the library ignores the count.
    func read() -> Step { step { mosquitto_loop_read(client, 1) } }
    func write() -> Step { step { mosquitto_loop_write(client, 1) } }

    /// Goes on through the proxy as far as the socket allows now; why it ends there, nil when it goes on.
    func readProxy() -> DisconnectReason.Cause? {
        guard let proxy else { return nil }
        let step = read()
        // TLS begins behind it.
        if sink.hasBegunConnect || session != nil { self.proxy = nil }
        guard !step.isFine || socket < 0 else { return nil }
        guard self.proxy != nil, step.code != MOSQ_ERR_TLS.rawValue else {
            return .of(
                code: step.code, systemCode: step.systemCode, logLines: sink.logLines,
                certificateProblem: sink.certificateProblem)
        }
        return .proxy("\(proxy) \(Self.refusal(step))")
    }

    private static func refusal(_ step: Step) -> String {
        switch step.code {
        case MOSQ_ERR_AUTH.rawValue:
            "does not take the user name and the password, or does not allow the connection"
        case MOSQ_ERR_NO_CONN.rawValue: "can't reach the broker"
        case MOSQ_ERR_CONN_LOST.rawValue, MOSQ_ERR_ERRNO.rawValue, MOSQ_ERR_SUCCESS.rawValue:
            "closed the connection"
        default: "refuses the connection, or is no SOCKS5 proxy"
        }
    }

    /// What a call left behind: the library's code, and `errno` at that moment.
    struct Step {
        var code: Int32
        var systemCode: Int32
        var isFine: Bool { code == MOSQ_ERR_SUCCESS.rawValue }
    }

    private func step(_ call: () -> Int32) -> Step {
        errno = 0
        let code = call()
        return Step(code: code, systemCode: errno)
    }

    func publish(_ message: MQTTMessage) -> Result<UInt16, LibraryError> {
        let hasProperties = version == .v5 && !message.properties.isEmpty
        return publish(message, hasProperties ? PropertyList(message.properties) : PropertyList())
    }

    private func publish(
        _ message: MQTTMessage, _ properties: borrowing PropertyList
    ) -> Result<UInt16, LibraryError> {
        let list = properties.head
        var id: Int32 = 0
        var code = properties.fault
        if code == MOSQ_ERR_SUCCESS.rawValue {
            code = message.topic.withCString { topic in
                message.payload.withUnsafeBytes {
                    mosquitto_publish_v5(
                        client, &id, topic, Int32($0.count), $0.baseAddress, Int32(message.qos.rawValue),
                        message.retain, list)
                }
            }
        }
        guard code == MOSQ_ERR_SUCCESS.rawValue else {
            return .failure(LibraryError(code: code, doing: "mosquitto_publish"))
        }
        return .success(UInt16(truncatingIfNeeded: id))
    }

    func subscribe(_ subscription: Subscription) -> Result<Int32, LibraryError> {
        var id: Int32 = 0
        var options: UInt32 = 0
        if version == .v5 {
            if subscription.noLocal { options |= MQTT_SUB_OPT_NO_LOCAL.rawValue }
            if subscription.skipsRetained { options |= MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue }
        }
        let code = mosquitto_subscribe_v5(
            client, &id, subscription.filter, Int32(subscription.qos.rawValue), Int32(options), nil)
        guard code == MOSQ_ERR_SUCCESS.rawValue else {
            return .failure(LibraryError(code: code, doing: "mosquitto_subscribe"))
        }
        return .success(id)
    }

    /// Whether the broker hears of it does not matter: what still comes has no reader.
    func unsubscribe(_ filter: String) { _ = mosquitto_unsubscribe(client, nil, filter) }

    /// The broker's certificate, when the connection is secured.
    var certificate: Certificate? { Certificate(ofServerOf: client) }

    /// Queues a DISCONNECT; once it is written the library closes the socket.
    func disconnect() -> Bool { mosquitto_disconnect_v5(client, 0, nil) == MOSQ_ERR_SUCCESS.rawValue }

    /// Log lines are formatted for every packet, so they are wanted only until the CONNACK.
    func stopListeningToLog() { mosquitto_log_callback_set(client, nil) }

    private func check(_ code: Int32, _ doing: String) throws(LibraryError) {
        if code != MOSQ_ERR_SUCCESS.rawValue { throw LibraryError(code: code, doing: doing) }
    }
}

extension TLSOptions {
    fileprivate var files: String {
        [caFile, caDirectory, certificateFile, keyFile].compactMap(\.self).joined(separator: ", ")
    }
}
