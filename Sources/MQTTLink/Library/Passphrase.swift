/// Answers OpenSSL when it wants a passphrase for something in a file: there is none.
///
/// Without an answer OpenSSL asks on the terminal, catches the process's signals meanwhile, and waits for ever.
let refusePassphrase:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
        _, _, _, _ in -1
    }
