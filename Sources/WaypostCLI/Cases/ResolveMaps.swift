import Waypost
import WaypostMessages

/// The maps of a case, laid over its routes one after the other as an agent would, and what of them is not in force.
struct ResolveMaps {
    private let router: Router
    private var layers: [RelocationLayer]
    private var patches = RelocationLayer(name: "patch", entries: [])
    /// The documents that are refused: `{"map","code","name","detail"}`, with the number of a map of the case, or the file
    /// of one of the command.
    private(set) var refused: [JSONValue] = []
    /// The entries that do nothing: `{"layer","index","reason"}`.
    private(set) var inactive: [JSONValue] = []

    /// Lays the maps of the command over the routes; one that is refused is left out.
    init(_ router: Router, _ layers: [RelocationLayer]) {
        self.router = router
        self.layers = []
        for layer in layers {
            do throws(Failure) {
                try relocate(self.layers + [layer])
                self.layers.append(layer)
            } catch {
                refuse(.string(layer.name), error)
            }
        }
    }

    /// Lays the next map of the case over them; one that is refused changes nothing, as in an agent.
    mutating func patch(_ map: JSONValue) {
        defer { number += 1 }
        do throws(Failure) {
            var next = patches
            next.patch(try MapFile.entries(map))
            try relocate(layers + [next])
            patches = next
        } catch {
            refuse(.int(number), error)
        }
    }

    private var number: Int64 = 0

    private mutating func relocate(_ layers: [RelocationLayer]) throws(Failure) {
        do throws(RelocationError) {
            inactive = try router.relocate(layers).inactive.map { entry in
                [
                    "layer": .string(entry.layer), "index": .int(Int64(entry.index)),
                    "reason": .string(entry.reason),
                ]
            }
        } catch {
            throw Failure(error)
        }
    }

    private mutating func refuse(_ map: JSONValue, _ refusal: Failure) {
        refused.append([
            "map": map, "code": .int(Int64(refusal.code.number)), "name": .string(refusal.code.name),
            "detail": .string(refusal.detail),
        ])
    }
}
