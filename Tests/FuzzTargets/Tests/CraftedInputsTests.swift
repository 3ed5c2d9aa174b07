import Testing

/// No input takes more than its share of time: four times the bytes may take eight times as long, and no more.
///
/// What was quadratic in combining marks let one sender hold up all others for seconds. That 64 KiB take no longer
/// than 5 ms is shown by scripts/test --fuzz, for only a release build can.
@Suite(.serialized) struct `Crafted inputs` {
    @Test(arguments: CraftedInputs.places.indices)
    func `take time in proportion to their length`(place: Int) async {
        for filling in CraftedInputs.fillings {
            // Other tests share the thread.
            await Task.yield()
            // Without optimisation what is linear takes long too: an eighth of the bytes shows the same.
            let finding = CraftedInputs.finding(
                CraftedInputs.places[place], filling, bytes: TimeBound.bytes / 8, limit: .max)
            #expect(finding == nil)
        }
    }
}
