import Foundation
import Testing

#if canImport(FoundationXML)
import FoundationXML
#endif

/// A report of tests as a CI system reads it.
final class JUnit: NSObject, XMLParserDelegate {
    private(set) var suites: [String] = []
    private(set) var tests = 0
    private(set) var failures: [String] = []

    init(_ text: String) throws {
        super.init()
        let parser = XMLParser(data: Data(text.utf8))
        parser.delegate = self
        #expect(parser.parse(), "\(String(describing: parser.parserError)): \(text)")
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        switch name {
        case "testsuite": suites.append(attributes["name"] ?? "")
        case "testcase": tests += 1
        case "failure": failures.append(attributes["message"] ?? "")
        default: break
        }
    }
}
