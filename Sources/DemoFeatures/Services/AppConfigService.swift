import Waypost

/// TheRouter's example of a service that is known by its protocol.
protocol AppConfigServiceProtocol: Sendable {
    /// Opens a mini program; returns what it was opened with.
    func openMiniProgram(info: [String: JSONValue]) -> JSONValue
}

struct AppConfigService: AppConfigServiceProtocol {
    func openMiniProgram(info: [String: JSONValue]) -> JSONValue {
        ["opened": true, "info": .object(info)]
    }
}

extension AppConfigService {
    static let exposed = ExposedService("AppConfigServiceProtocol", make: { AppConfigService() }) {
        Exposed("openMiniProgram(info:)", selector: "openMiniProgramWithInfo:", idempotent: true) {
            (service: AppConfigService, info: [String: JSONValue]) in
            service.openMiniProgram(info: info)
        }
    }
}
