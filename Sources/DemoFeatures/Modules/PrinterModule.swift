import Glibc
import Synchronization
import Waypost

/// A feature that is set up when it is first needed: a screen, and a service that prints lines into the ledger.
///
/// The set-up fails when there is a file `no-paper` in the state directory.
struct PrinterModule: RouteModule {
    let printer: PrinterService
    let screens: DemoScreens

    var routes: [Route] { [screens.page("scheme://router/printer", "PrinterScreen")] }

    var services: [ExposedService] {
        [
            ExposedService("PrinterService", instance: printer) {
                Exposed("print(line:)") { (printer: PrinterService, line: String) in
                    try printer.print(line: line)
                }
            }
        ]
    }

    func setUp() async throws { try printer.start() }
}

/// Prints into the ledger; not idempotent.
final class PrinterService: Sendable {
    enum Failure: Error { case noPaper, notStarted }

    private let ledger: LedgerService
    private let sign: String
    private let isStarted = Mutex(false)

    init(ledger: LedgerService, directory: String) {
        self.ledger = ledger
        sign = "\(directory)/no-paper"
    }

    func start() throws {
        guard access(sign, F_OK) != 0 else { throw Failure.noPaper }
        isStarted.withLock { $0 = true }
    }

    /// Prints one line; returns the number of lines in the ledger.
    func print(line: String) throws -> Int {
        guard isStarted.withLock({ $0 }) else { throw Failure.notStarted }
        return try ledger.append(entry: line)
    }
}
