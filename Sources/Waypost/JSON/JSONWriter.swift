/// Writes JSON straight into bytes, keys in the order of the calls.
///
/// For replies and events, where a tree of values would be built only to be taken apart again.
/// Commas are put by the writer; that begins and ends pair is the caller's part.
package struct JSONWriter: ~Copyable {
    private var output: JSONBytes
    private var needsComma = false

    package init(reserving capacity: Int = 256) { output = JSONBytes(reserving: capacity) }

    /// What was written so far.
    package var bytes: [UInt8] { output.array }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// The name of the member whose value is written next; nothing in it needs an escape.
    package mutating func key(_ name: StaticString) {
        separate()
        output.append(UInt8(ascii: "\""))
        name.withUTF8Buffer {
            assert(!$0.contains(where: JSONText.mustEscape))
            output.append($0)
        }
        output.append(UInt8(ascii: "\""))
        output.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func value(_ value: JSONValue) {
        separate()
        JSONText.append(value, to: &output)
    }

    mutating func value(_ text: String) {
        separate()
        JSONText.append(text, to: &output)
    }

    mutating func value(_ number: Int64) {
        separate()
        JSONText.append(number, to: &output)
    }

    mutating func value(_ number: Int) { value(Int64(number)) }

    mutating func value(_ number: Double) {
        separate()
        JSONText.append(number, to: &output)
    }

    mutating func value(_ flag: Bool) {
        separate()
        JSONText.append(flag, to: &output)
    }

    package mutating func member(_ name: StaticString, _ value: JSONValue) {
        key(name)
        self.value(value)
    }

    /// A member whose name is known only now.
    package mutating func member(named name: String, _ value: JSONValue) {
        self.value(name)
        output.append(UInt8(ascii: ":"))
        needsComma = false
        self.value(value)
    }

    package mutating func member(_ name: StaticString, _ text: String) {
        key(name)
        value(text)
    }

    package mutating func member(_ name: StaticString, _ number: Int64) {
        key(name)
        value(number)
    }

    package mutating func member(_ name: StaticString, _ number: Int) { member(name, Int64(number)) }

    package mutating func member(_ name: StaticString, _ number: Double) {
        key(name)
        value(number)
    }

    package mutating func member(_ name: StaticString, _ flag: Bool) {
        key(name)
        value(flag)
    }

    package mutating func member(_ name: StaticString, _ texts: [String]) {
        key(name)
        beginArray()
        for text in texts { value(text) }
        endArray()
    }

    private mutating func open(_ byte: UInt8) {
        separate()
        output.append(byte)
        needsComma = false
    }

    private mutating func close(_ byte: UInt8) {
        output.append(byte)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { output.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
