public import Waypost

/// The formats of an export.
public enum RouteExportFormat: String, Sendable, CaseIterable {
    /// TheRouter's array: `[{"path","class","priority","kind"}]`.
    case json
    /// The same as an XML property list.
    case plist
    /// A table in Markdown.
    case markdown
    /// A Graphviz graph, redirects drawn.
    case dot
    /// Swift constants, so that callers write no paths.
    case swift
}

/// Routes and redirects to be written out.
public struct RouteExport: Sendable, Hashable {
    /// A redirect that is drawn.
    public struct Redirect: Sendable, Hashable {
        /// The URL or subtree that is redirected.
        public var origin: String
        /// Where it leads.
        public var target: String

        /// A redirect by its ends.
        init(origin: String, target: String) {
            self.origin = origin
            self.target = target
        }
    }

    /// The routes, by path.
    public var routes: [RouteDescription]
    /// The redirects in force.
    package var redirects: [Redirect]

    /// An export of these.
    init(routes: [RouteDescription], redirects: [Redirect] = []) {
        self.routes = routes
        self.redirects = redirects
    }

    /// The text in a format; the same routes always give the same text.
    public func text(_ format: RouteExportFormat) -> String {
        switch format {
        case .json: JSONValue.array(routes.map(\.json)).prettyText + "\n"
        case .plist: plist
        case .markdown: markdown
        case .dot: dot
        case .swift: SwiftConstants(routes).text
        }
    }

    private var plist: String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <array>

            """
        for route in routes {
            text += """
                \t<dict>
                \t\t<key>class</key>
                \t\t<string>\(Self.xml(route.className))</string>
                \t\t<key>kind</key>
                \t\t<string>\(route.kind.rawValue)</string>
                \t\t<key>path</key>
                \t\t<string>\(Self.xml(route.path))</string>
                \t\t<key>priority</key>
                \t\t<integer>\(route.priority)</integer>

                """
            for (name, holds) in route.flags where holds { text += "\t\t<key>\(name)</key>\n\t\t<true/>\n" }
            for (name, values) in route.objects where !values.isEmpty {
                text += "\t\t<key>\(name)</key>\n" + Self.plist(.object(values), "\t\t")
            }
            if !route.parameters.isEmpty {
                text += "\t\t<key>parameters</key>\n"
                text += Self.plist(.array(route.parameters.map(\.json)), "\t\t")
            }
            text += "\t</dict>\n"
        }
        return text + "</array>\n</plist>\n"
    }

    private var markdown: String {
        var text = "| Path | Class | Priority | Kind | Parameters |\n|---|---|---:|---|---|\n"
        for route in routes {
            let name = route.className.isEmpty ? "" : "`\(Self.cell(route.className))`"
            let parameters = Self.cell(route.parameters.map(\.text).joined(separator: ", "))
            text += "| `\(Self.cell(route.path))` | \(name) | \(route.priority) | \(route.kind.rawValue) "
            text += "| \(parameters) |\n"
        }
        guard !redirects.isEmpty else { return text }
        text += "\n| Redirect from | to |\n|---|---|\n"
        for redirect in redirects {
            text += "| `\(Self.cell(redirect.origin))` | `\(Self.cell(redirect.target))` |\n"
        }
        return text
    }

    private var dot: String {
        var text = "digraph routes {\n    rankdir=LR;\n    node [shape=box, fontname=\"Helvetica\"];\n"
        for route in routes {
            text += "    \(Self.quoted(route.path));\n"
            guard !route.className.isEmpty else { continue }
            let name = Self.quoted("class " + route.className)
            text += "    \(name) [label=\(Self.quoted(route.className)), shape=ellipse];\n"
            text += "    \(Self.quoted(route.path)) -> \(name);\n"
        }
        for redirect in redirects {
            text += "    \(Self.quoted(redirect.origin)) -> \(Self.quoted(redirect.target)) "
            text += "[style=dashed, label=\"redirect\"];\n"
        }
        return text + "}\n"
    }

    /// A value as a property list has it; such a list has no null.
    private static func plist(_ value: JSONValue, _ indent: String) -> String {
        switch value {
        case .null: return ""
        case .bool(let flag): return "\(indent)<\(flag)/>\n"
        case .int(let number): return "\(indent)<integer>\(number)</integer>\n"
        case .double: return "\(indent)<real>\(value.text)</real>\n"
        case .string(let text): return "\(indent)<string>\(xml(text))</string>\n"
        case .array(let elements):
            let inside = elements.map { plist($0, indent + "\t") }.joined()
            return "\(indent)<array>\n\(inside)\(indent)</array>\n"
        case .object(let members):
            let inside = members.sorted { $0.key < $1.key }.filter { !$0.value.isNull }.map {
                "\(indent)\t<key>\(xml($0.key))</key>\n" + plist($0.value, indent + "\t")
            }
            return "\(indent)<dict>\n\(inside.joined())\(indent)</dict>\n"
        }
    }

    private static func xml(_ text: String) -> String {
        text.escaping { ["&": "&amp;", "<": "&lt;", ">": "&gt;"][$0] }
    }

    private static func cell(_ text: String) -> String {
        text.escaping { $0 == "|" ? "\\|" : $0 == "`" ? "'" : $0.endsLine ? " " : nil }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.escaping { $0 == "\"" || $0 == "\\" ? "\\\($0)" : $0.endsLine ? " " : nil } + "\""
    }
}

extension Router {
    /// The routes and redirects in force, for writing them out.
    public var export: RouteExport {
        RouteExport(
            routes: routes,
            redirects: state.plan.redirects.map {
                .init(origin: $0.redirect.origin.text, target: $0.redirect.target.text)
            })
    }
}
