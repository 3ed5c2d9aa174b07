/// A package that Debian's dpkg has installed on this machine.
enum InstalledPackage {
    /// The version of a package, such as `2.0.11-1.2+deb12u2`; nil when it is not installed, or there is no dpkg.
    static func version(of name: String, in file: String = "/var/lib/dpkg/status") -> String? {
        guard let list = try? InputFile.read(file, purpose: "the list of packages") else { return nil }
        let (package, version) = (Array("Package: \(name)".utf8), Array("Version: ".utf8))
        var isThere = false
        for line in list.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { isThere = false }
            if line.elementsEqual(package) { isThere = true }
            if isThere, line.starts(with: version) {
                return String(decoding: line.dropFirst(version.count), as: UTF8.self)
            }
        }
        return nil
    }
}
