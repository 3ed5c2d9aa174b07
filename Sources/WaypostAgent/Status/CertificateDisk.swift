import Glibc
package import MQTTLink

/// The disk that the files of certificates are on.
package protocol CertificateDisk: Sendable {
    /// Of the certificates in a file the one that ends first; nil when there is none.
    func certificate(in path: String) -> Certificate?
    /// Whether a certificate and a key belong together; nil when one of the two can't be read.
    func fits(_ certificate: String, key: String) -> Bool?
    /// Nil when there is no such file.
    func mark(of path: String) -> FileMark?
    /// Whether anybody but its owner may write a file.
    func canOthersWrite(_ path: String) -> Bool
    func move(_ path: String, to place: String) throws(CertificateFault)
    /// What a file or a folder holds is durable.
    func sync(_ path: String) throws(CertificateFault)
}

/// Why a certificate can't be taken, for people.
package struct CertificateFault: Error, Sendable, CustomStringConvertible {
    let text: String
    package var description: String { text }

    package init(text: String) { self.text = text }
}

/// The machine's own.
package struct FileDisk: CertificateDisk {
    package init() {}

    package func certificate(in path: String) -> Certificate? { Certificate.firstToEnd(inFile: path) }

    package func fits(_ certificate: String, key: String) -> Bool? {
        Certificate.fits(certificate, key: key)
    }

    package func mark(of path: String) -> FileMark? { FileMark(path) }

    package func canOthersWrite(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & (S_IWGRP | S_IWOTH) != 0
    }

    package func move(_ path: String, to place: String) throws(CertificateFault) {
        guard rename(path, place) == 0 else {
            throw CertificateFault(text: "rename \(path) to \(place): \(String(cString: strerror(errno)))")
        }
    }

    package func sync(_ path: String) throws(CertificateFault) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw CertificateFault(text: "sync \(path): \(String(cString: strerror(errno)))")
        }
    }
}

/// Shows whether a file has changed: one of these differs after it was written or replaced.
package struct FileMark: Sendable, Equatable {
    private var node: UInt64
    private var size: Int64
    private var seconds: Int64
    private var nanoseconds: Int64

    /// The mark of a file of which only so much is known; for tests that play a disk.
    package init(number: UInt64) { (node, size, seconds, nanoseconds) = (number, 0, 0, 0) }

    /// Nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        node = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = Int64(status.st_mtim.tv_sec)
        nanoseconds = Int64(status.st_mtim.tv_nsec)
    }
}
