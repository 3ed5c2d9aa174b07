import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillPattern, kindOf, laterOf, valueOf } from '../../Sources/WaypostConsole/Page/forms.js';

test('the kind of a field follows from its type', () => {
  assert.deepEqual(['Int', 'UInt8', 'Double?', 'Bool', 'String', 'UUID', '[String]', 'Order'].map(kindOf),
    ['integer', 'integer', 'number', 'boolean', 'text', 'text', 'json', 'json']);
});

for (const [type, text, value] of [['Int', '42', 42], ['Double', '1.5', 1.5], ['Bool', 'false', false], ['String', '42', '42'], ['String', '', ''], ['[Int]', '[1,2]', [1, 2]]]) {
  test(`${JSON.stringify(text)} as ${type}`, () => assert.deepEqual(valueOf({ name: 'x', type }, text), value));
}

for (const [type, text] of [['Int', '4.2'], ['Int', 'four'], ['Double', 'x'], ['Bool', 'yes'], ['[Int]', '[1'], ['Int', '']]) {
  test(`${JSON.stringify(text)} is no ${type}, and the field is named`, () => assert.throws(() => valueOf({ name: 'size', type }, text), /^Error: size /));
}

test('what may be left out is left out', () => assert.equal(valueOf({ name: 'x', type: 'Int', optional: true }, ''), undefined));

test('a command for later has its times, and what is none is named', () => {
  assert.deepEqual([laterOf('', ' '), laterOf(' 30m', ''), laterOf('', 'mon 02:00-04:00')],
    [{}, { in: 1_800_000 }, { window: 'mon 02:00-04:00' }]);
  assert.throws(() => laterOf('soon', ''), /soon is no time/);
});

test('placeholders take their values, encoded, and the rest stays', () => {
  assert.deepEqual(fillPattern('app://orders/:id/<int:line>', { id: 'a b', line: 3, note: 'x' }), { url: 'app://orders/a%20b/3', rest: { note: 'x' } });
  assert.deepEqual(fillPattern('app://f/<path:rest>', { rest: 'a/b c' }), { url: 'app://f/a/b%20c', rest: {} });
  assert.deepEqual(fillPattern('app://orders/:id', {}), { url: 'app://orders/:id', rest: {} });
});
