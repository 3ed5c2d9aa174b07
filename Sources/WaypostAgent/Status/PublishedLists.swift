package import Waypost
import WaypostTools

/// The routes and the contract as an agent publishes them: masked, and each list cut to the space that a message has.
package struct PublishedLists {
    private let router: Router
    private let redaction: Redaction
    /// The most bytes of one document.
    private let limit: Int

    package init(of router: Router, redaction: Redaction = Redaction(), within limit: Int) {
        self.router = router
        self.redaction = redaction
        self.limit = limit
    }

    /// The list of routes, and how many are left out.
    package var routes: ([UInt8], missing: Int) { array(router.routes.map(\.json), within: limit) }

    /// What can be called, and how URLs are looked up, with each list cut to the space that is left, and how many are
    /// left out.
    package var contract: ([UInt8], missing: Int) {
        let contract = router.contractWithoutRoutes
        var payload = Array("{\"router\":".utf8) + redaction.masked(contract.settings.json).serialized()
        payload += Array(",\"mapKinds\":".utf8)
        payload += JSONValue.array(contract.mapKinds.map { .string($0) }).serialized()
        var missing = 0
        var lists = [
            ("services", contract.services.map(\.json)),
            ("redirects", contract.redirects.map { .string($0) }),
        ]
        if !contract.gates.isEmpty { lists.insert(("gates", contract.gates.map { .string($0) }), at: 0) }
        if !contract.deletions.isEmpty { lists.append(("deleted", contract.deletions.map(\.json))) }
        for (name, values) in lists {
            payload += Array(",\"\(name)\":".utf8)
            // Behind the services there must be space for empty lists.
            let (list, rest) = array(values, within: limit - payload.count - 56)
            payload += list
            missing += rest
        }
        return (payload + [UInt8(ascii: "}")], missing)
    }

    /// The values as a JSON array, masked and cut to `limit` bytes, and how many were left out.
    private func array(_ values: [JSONValue], within limit: Int) -> ([UInt8], missing: Int) {
        var payload: [UInt8] = [UInt8(ascii: "[")]
        for (index, value) in values.enumerated() {
            let entry = redaction.masked(value).serialized()
            guard payload.count + entry.count + 2 <= limit else {
                return (payload + [UInt8(ascii: "]")], values.count - index)
            }
            if index > 0 { payload.append(UInt8(ascii: ",")) }
            payload += entry
        }
        return (payload + [UInt8(ascii: "]")], 0)
    }
}
