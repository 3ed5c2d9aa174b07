import Testing

/// Every input of the corpus that scripts/test --fuzz has gathered, once.
@Suite struct `Inputs that were found` {
    @Test(arguments: FuzzTarget.allCases)
    func `are read or refused, and every law holds`(target: FuzzTarget) async throws {
        let corpus = try target.corpus
        #expect(corpus.count > 20)
        for (name, bytes) in corpus {
            // Other tests share the thread.
            await Task.yield()
            #expect(throws: Never.self, "\(name)") { try target.check(bytes) }
        }
    }
}
