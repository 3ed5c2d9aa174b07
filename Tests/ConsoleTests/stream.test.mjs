import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventParser, backOff, freshness } from '../../Sources/WaypostConsole/Page/sse.js';

test('events are the same wherever the stream is cut', () => {
  const text = ': hello\n\nevent: log\nid: 12\ndata: {"a":1}\n\nevent: status\r\ndata: x\r\ndata: y\r\n\r\ndata: rest';
  const whole = new EventParser().push(text);
  assert.deepEqual(whole, [{ event: 'log', data: '{"a":1}', id: '12' }, { event: 'status', data: 'x\ny', id: null }]);
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new EventParser();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], whole, `cut at ${cut}`);
    assert.equal(parser.lastID, '12');
  }
});

test('each try waits longer, and none longer than 40 s', () => {
  const waits = [0, 1, 2, 3, 6, 50].map((tries) => backOff(tries, 0.5));
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 30_000, 30_000]);
  assert.ok(backOff(99, 1) <= 40_000 && backOff(0, 0) > 0);
});

test('how far what is shown can be believed', () => {
  const status = { connected: true, asOf: 1_000 };
  assert.equal(freshness({ link: 'opening', status: null, now: 0 }), 'opening');
  assert.equal(freshness({ link: 'open', status, now: 11_000 }), 'fresh');
  assert.equal(freshness({ link: 'open', status, now: 11_001 }), 'stale');
  assert.equal(freshness({ link: 'open', status: { ...status, connected: false }, now: 2_000 }), 'offline');
  assert.equal(freshness({ link: 'gone', status, now: 2_000 }), 'gone');
});

test('a line ends at its end, whatever other characters an expression takes for one', () => {
  const frame = 'event: log\nid: 7\ndata: {"m":"a\u2028b\u2029c\u0085d"}\n\n';
  assert.deepEqual(new EventParser().push(frame), [{ event: 'log', data: '{"m":"a\u2028b\u2029c\u0085d"}', id: '7' }]);
  assert.deepEqual(new EventParser().push('data\ndata:\ndata:  x\n\n'), [{ event: 'message', data: '\n\n x', id: null }]);
});

// What stands between two words, and whether a line of the stream ends there.
for (const [mark, ends] of [['\n', true], ['\r\n', true], ['\r', true], ['\u2028', false], ['\u2029', false],
  ['\u0085', false], ['\v', false], ['\f', false], ['\0', false], ['\ufeff', false], ['\ufffd', false], ['+', false],
  ['%0A', false], ['\u001e', false]]) {
  test(`${JSON.stringify(mark)} ${ends ? 'ends a line' : 'stands in a line'}, wherever the stream is cut`, () => {
    const text = `data: one${mark}${ends ? 'data: ' : ''}two${ends ? mark : '\n'}id: 7${ends ? mark + mark : '\n\n'}data: last\n\n`;
    const wanted = [{ event: 'message', data: ends ? 'one\ntwo' : `one${mark}two`, id: '7' },
      { event: 'message', data: 'last', id: null }];
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parser = new EventParser();
      assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], wanted, `cut at ${cut}`);
    }
  });
}

test('an event whose end has not come is no event', () => {
  for (const text of ['data: x', 'data: x\n', 'data: x\r']) assert.deepEqual(new EventParser().push(text), []);
});
