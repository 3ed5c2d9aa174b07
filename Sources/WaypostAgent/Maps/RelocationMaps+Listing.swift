import Waypost
import WaypostFleet
import WaypostMessages

extension RelocationMaps {
    /// One page of the answer to `maps`, of at most so many bytes, with at least one item.
    func page(_ request: MapsRequest, bytes: Int) throws(Failure) -> JSONValue {
        let (layers, applied) = current
        let store = store
        let listing = MapListing(layers, applied, in: router) { () throws(Failure) in
            try Self.read(store) { try $0.pastMaps() }.map { past in
                MapListing.Past(
                    layer: past.layer, revision: MapRevision(past, layer: layers.name(of: past.layer))
                ) { () throws(Failure) in
                    try Self.read(store) { try $0.entries(ofPastMap: past.sequence) }
                }
            }
        }
        return try listing.page(request, bytes: bytes)
    }

    private static func read<Result: Sendable>(
        _ store: Store, _ body: (Store.Transaction) throws -> Result
    ) throws(Failure) -> Result {
        do throws(StoreError) {
            return try store.read(1, body)
        } catch {
            throw Failure(.disk, "\(error)")
        }
    }
}

extension MapRevision {
    fileprivate init(_ past: PastMap, layer: String) {
        self.init(
            layer: layer, revision: past.revision, digest: SHA256.label(past.digest), author: past.author,
            from: past.began, until: past.ended, bytes: past.bytes, changes: past.changes)
    }
}
