import Testing

@testable import WaypostCLI

struct BrokerVersionTests {
    @Test(
        arguments: [
            ("mosquitto version 2.0.7", ["CVE-2021-34432", "CVE-2021-28166", "CVE-2024-8376"], ["CVE-2099"]),
            ("mosquitto version 2.0.11", ["CVE-2021-41039", "CVE-2023-0809"], ["CVE-2021-34432"]),
            ("mosquitto version 2.0.18", ["CVE-2024-8376"], ["CVE-2023-0809"]),
            ("mosquitto version 1.5.1", ["CVE-2023-28366"], ["CVE-2021-34432", "CVE-2021-41039"]),
        ])
    func `a version has the faults that were fixed after it, and not those that came later`(
        _ text: String, _ named: [String], _ unnamed: [String]
    ) {
        let finding = BrokerVersion(text).finding
        #expect(finding.status == .warning)
        for name in named { #expect(finding.found.contains(name)) }
        for name in unnamed { #expect(!finding.found.contains(name)) }
        #expect(finding.advice?.contains("2.0.19") == true)
    }

    @Test(arguments: [
        "mosquitto version 2.0.19", "mosquitto version 2.1.0", "EMQX 5.8", "mosquitto version", "",
    ])
    func `there is no warning for a version without known faults, or of another broker`(_ text: String) {
        let finding = BrokerVersion(text).finding
        #expect(finding.status == .ok)
        #expect(finding.found == text)
    }
}
