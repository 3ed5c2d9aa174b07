#if Macros
@_spi(PluginMessage) import SwiftCompilerPluginMessageHandling
import SwiftSyntaxMacros

/// The process that the compiler asks to expand macros.
@main
struct WaypostMacrosPlugin: PluginProvider {
    private static let macros: [String: any Macro.Type] = [
        "RoutableMacro": RoutableMacro.self,
        "RouteMacro": RouteMacro.self,
        "ServiceMacro": ServiceMacro.self,
        "ExposedMacro": ExposedMacro.self,
    ]

    static func main() throws {
        let handler = ExactPositions(PluginProviderMessageHandler(provider: Self()))
        let connection = try StandardIOMessageConnection()
        try CompilerPluginMessageListener(connection: connection, messageHandler: handler).main()
    }

    func resolveMacro(moduleName: String, typeName: String) throws -> any Macro.Type {
        guard let macro = Self.macros[typeName] else { throw UnknownMacro(name: typeName) }
        return macro
    }
}

private struct UnknownMacro: Error, CustomStringConvertible {
    let name: String
    var description: String { "WaypostMacros has no macro \(name)" }
}
#else
/// Stands in for the plug-in without the package trait `Macros`, when nothing uses it.
@main
struct WaypostMacrosPlugin {
    static func main() {}
}
#endif
