import TestSupport
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
        let finding = BrokerVersion(text).finding()
        #expect(finding.status == .note)
        for name in named { #expect(finding.found.contains(name)) }
        for name in unnamed { #expect(!finding.found.contains(name)) }
        #expect(finding.advice?.contains("2.0.19") == true)
    }

    @Test(arguments: [
        "mosquitto version 2.0.19", "mosquitto version 2.1.0", "EMQX 5.8", "mosquitto version", "",
    ])
    func `there is no warning for a version without known faults, or of another broker`(_ text: String) {
        let finding = BrokerVersion(text).finding()
        #expect(finding.status == .ok)
        #expect(finding.found == text)
    }

    // Debian's corrected package was called faulty, above all that had failed.
    @Test(
        arguments: [
            ("2.0.11-1.2+deb12u2", DoctorFinding.Status.ok), ("2.0.11-1.2+deb12u10", .ok),
            ("2.0.11-1.2+deb12u1", .warning), ("2.0.11-1+deb11u1", .warning),
            // Another one than the broker that was asked.
            ("2.0.18-1", .note),
        ])
    func `what the installed package has corrected is no fault`(
        _ package: String, _ status: DoctorFinding.Status
    ) {
        #expect(BrokerVersion("mosquitto version 2.0.11").finding(package: package).status == status)
    }

    @Test func `the version of a package is read from dpkg's list`() throws {
        let list = try ScratchFile(
            """
            Package: libmosquitto1
            Version: 1

            Package: mosquitto
            Status: install ok installed
            Version: 2.0.11-1.2+deb12u2

            """)
        #expect(InstalledPackage.version(of: "mosquitto", in: list.path) == "2.0.11-1.2+deb12u2")
        #expect(InstalledPackage.version(of: "mosquit", in: list.path) == nil)
        #expect(InstalledPackage.version(of: "mosquitto", in: list.path + "-none") == nil)
    }
}
