#if Console
import ArgumentParser
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import MQTTLink
import NIOCore
import ServiceLifecycle
import UnixSignals
import Waypost
import WaypostBackend
import WaypostMessages

struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "waypost-console",
        abstract:
            "A page for the browser: which agents have a problem, what they log, and where a URL leads.",
        discussion: """
            It prints an address with a token; open that (a token that you gave is not printed). It has one connection to the broker for all tabs, stores \
            nothing, and needs no other server. It only reads unless --allow-commands is given.

            Examples:
              waypost-console
              waypost-console --profile shop --allow-commands
              waypost-console --listen 10.0.0.5:8750 \\
                --behind-proxy https://console.example
            """,
        version: Version.current)

    @Option(
        help: ArgumentHelp(
            "Where it listens. An address that others reach needs --behind-proxy.",
            discussion: "Default: 127.0.0.1:8750. Port 0 takes a free one.", valueName: "address:port"))
    var listen = "127.0.0.1:8750"

    @Flag(help: "Let the page open, call, send maps, undo and forget.")
    var allowCommands = false

    @Option(
        help: ArgumentHelp(
            "The address under which a proxy with TLS serves it: https://console.example", valueName: "url"))
    var behindProxy: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the token; or set WAYPOST_CONSOLE_TOKEN.",
            discussion: "Default: a new one each time.", valueName: "file"), completion: .file())
    var tokenFile: String?

    @Option(name: .customLong("as"), help: ArgumentHelp("The sender's name.", valueName: "name"))
    var name: String?

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    /// Beside the program, wherever it was put.
    ///
    /// `Bundle.module` looks there too, and holds the path of the folder that it was built in, so that no two builds would
    /// be the same.
    private static let page = Bundle.main.bundleURL.appendingPathComponent(
        "waypost_WaypostConsole.resources/Page")
    private static let maximumConnections = 64
    private static let maximumHeaders = 8 * 1_024
    private static let idleTimeout = TimeAmount.seconds(5)

    func run() async throws {
        let (address, port) = try place()
        let settings = try await broker.resolved(as: name)
        let shell = CommandLineText(place: try await broker.forShell(), as: settings.name)
        let (token, source) = try self.token()
        let files = try PageFiles(folder: Self.page)
        let proxy = try self.proxy()
        let backend = Backend(settings)
        let reader = FleetReader(backend)
        let tabs = Tabs()
        let status = StatusView(backend: backend, reader: reader, tabs: tabs, allowsCommands: allowCommands)
        var logger = Logger(label: "waypost-console") { _ in PlainLogHandler(LogThreshold(.warning)) }
        logger.logLevel = .warning
        let gates = GateBox()
        let server = Application(
            responder: CallbackResponder<BasicRequestContext> { request, context in
                // It exists before the first request comes: the port is known then.
                guard let gate = gates.gate else { return Response(status: .serviceUnavailable) }
                return try await ConsoleServer(
                    gate: gate, files: files, reader: reader, tabs: tabs, status: status,
                    asking: AskingViews(backend: backend, reader: reader, shell: shell),
                    changes: allowCommands ? Changes(backend: backend, reader: reader, shell: shell) : nil
                ).respond(to: request, context: context)
            },
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [RequestDeadline()], idleTimeout: Self.idleTimeout,
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: Self.maximumHeaders, maxHeaderListSize: Self.maximumHeaders,
                        maxHeaderFieldCount: 64))),
            configuration: ApplicationConfiguration(
                address: .hostname(address, port: port), reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? port
                gates.open(Gatekeeper(token: token, address: address, port: port, proxy: proxy))
                let base = proxy.map { "https://\($0)" } ?? Self.base(address, port)
                // The address comes last: who waits for it has read the rest.
                if let source {
                    // A terminal, and what gathers the output of services, is read by more people than a file.
                    Terminal.note(TerminalText("the token of the address is the one in \(source)"))
                    Terminal.print(TerminalText("\(base)/"))
                } else {
                    Terminal.print(TerminalText("\(base)/#token=\(token)"))
                }
            },
            logger: logger)
        let services: [any Service] = [backend, reader, server]
        var group = ServiceGroupConfiguration(
            services: services.map {
                .init(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // Requests that are being answered get some time, whatever they wait for.
        group.maximumGracefulShutdownDuration = .seconds(8)
        try await ServiceGroup(configuration: group).run()
    }

    private static func base(_ address: String, _ port: Int) -> String {
        let host = address.contains(":") ? "[\(address)]" : address == "0.0.0.0" ? "127.0.0.1" : address
        return "http://\(host):\(port)"
    }

    private func place() throws(CommandError) -> (address: String, port: Int) {
        guard let mark = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: mark)...])
        else {
            throw CommandError(.usage, "--listen must be address:port; found \(listen.quoted)")
        }
        let address = listen[..<mark].trimmingPrefix("[")
        let host = address.hasSuffix("]") ? String(address.dropLast()) : String(address)
        // A name may begin with 127, too.
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        let isLoopback =
            host == "localhost" || host == "::1"
            || (numbers.count == 4 && numbers.first == 127 && numbers.allSatisfy { $0 != nil })
        guard isLoopback || behindProxy != nil else {
            throw CommandError(
                .usage,
                "--listen \(listen) can be reached by others, and there is no TLS: put a proxy before it, see --behind-proxy"
            )
        }
        return (host, Int(port))
    }

    private func proxy() throws(CommandError) -> String? {
        guard let behindProxy else { return nil }
        guard let url = URL(string: behindProxy), let scheme = url.scheme?.lowercased(),
            scheme == "https" || scheme == "http",
            let host = url.host, url.path.isEmpty || url.path == "/",
            url.user == nil, url.query == nil, url.fragment == nil, (1...65_535).contains(url.port ?? 443)
        else {
            throw CommandError(
                .usage, "--behind-proxy must be https://host without a path; found \(behindProxy.quoted)")
        }
        guard scheme == "https" else {
            throw CommandError(
                .usage,
                "--behind-proxy \(behindProxy): over http others can read the token on its way; let the proxy serve https"
            )
        }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        return url.port.map { "\(name):\($0)" } ?? name
    }

    /// The token, and what it came from; nil for a new one.
    private func token() throws(CommandError) -> (token: String, source: String?) {
        let given =
            try tokenFile.map { (file) throws(CommandError) in
                try GuardedFile.readSecret(file, purpose: "token file")
            } ?? ProcessInfo.processInfo.environment["WAYPOST_CONSOLE_TOKEN"]
        guard let given, !given.isEmpty else { return (Gatekeeper.secret(), nil) }
        guard given.utf8.count >= 16, given.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw CommandError(.usage, "the token must have 16 or more characters of ASCII, and no space")
        }
        return (given, tokenFile ?? "WAYPOST_CONSOLE_TOKEN")
    }
}
#endif
