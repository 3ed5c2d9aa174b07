import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  ago, bytes, clock, count, day, duration, exact, isTime, left, plural, span, visible,
} from '../../Sources/WaypostConsole/Page/time.js';

const NOW = 1_795_217_000_000;

for (const [age, text] of [
  [0, 'now'], [1_999, 'now'], [-1_500, 'now'], [28_400, '28 s ago'], [119_000, '119 s ago'], [120_000, '2 min ago'],
  [3_600_000, '60 min ago'], [7_500_000, '2 h 5 min ago'], [86_400_000, '24 h ago'], [34_560_000_000, '400 d ago'], [-180_000, 'in 3 min'],
]) {
  test(`${age} ms is ${text}`, () => assert.equal(ago(NOW - age, NOW), text));
}

test('what is not known is said', () => assert.equal(ago(null, NOW), 'not known'));

for (const [text, value] of [
  ['500ms', 500], ['10s', 10_000], ['90', 90_000], ['1.5h', 5_400_000], ['10 min', 600_000], ['10m', 600_000], ['366d', 31_622_400_000],
  ['367d', null], ['', null], ['s', null], ['-1s', null], ['1e3s', null], ['0x10', null], ['1.2.3s', null], ['inf', null], ['10  s', null], ['90 ', null],
]) {
  test(`the time ${JSON.stringify(text)} has ${value} ms`, () => assert.equal(span(text), value));
}

test('durations keep two figures', () => {
  assert.deepEqual([850, 4_200, 12_000, 600_000, 8_000_000, 200_000_000].map(duration), ['850 ms', '4.2 s', '12 s', '10 min', '2 h 13 min', '2 d']);
  assert.equal(duration(-5), '0 ms');
});

test('what is left counts down to nothing and not below', () => {
  assert.deepEqual([250_000, 59_001, 1, -7].map(left), ['4 min 10 s', '60 s', '1 s', '0 s'].map((text) => (text === '60 s' ? '1 min 00 s' : text)));
});

test('an exact time has day, milliseconds and zone', () => {
  assert.match(exact(NOW), /^2026-11-2\d \d\d:\d\d:\d\d\.000 UTC/);
  assert.equal(exact(NOW).startsWith(`${day(NOW)} ${clock(NOW)}.000`), true);
});

test('numbers and words', () => {
  assert.equal(count(1_234_567), '1\u202F234\u202F567');
  assert.equal(plural(1, 'agent'), '1 agent');
  assert.equal(plural(2, 'entry', 'entries'), '2 entries');
  assert.deepEqual([100, 2_048, 47_185_920].map(bytes), ['100 B', '2 KiB', '45 MiB']);
});

test('what can not be seen, or turns a text around, is written out', () => {
  assert.equal(visible('a\u202Eb\u200B\u2028\u{E0001}\u0007\uFFFE'), 'a\\u{202E}b\\u{200B}\\u{2028}\\u{E0001}\\u{0007}\\u{FFFE}');
  for (const text of ['line\n\tnext é 日本 10\u202F000 –', '👩‍👩‍👧 ❤️ ❤️‍🔥 👋🏽', 'e\u0301']) assert.equal(visible(text), text);
  assert.equal(visible('a\u200Db 1\uFE0F\u202F'), 'a\\u{200D}b 1\\u{FE0F}\\u{202F}');
});

test('of all characters those are written out that the command line writes out', () => {
  /** @type {Set<number>} */
  const wanted = new Set();
  const ranges = readFileSync(new URL('../EndToEndTests/Vectors/unseen.txt', import.meta.url), 'utf8').trimEnd();
  for (const range of ranges.split('\n')) {
    const [low, high] = range.split('..').map((number) => parseInt(number, 16));
    for (let code = low; code <= high; code += 1) wanted.add(code);
  }
  const wrong = [];
  for (let code = 0; code <= 0x10FFFF; code += 1) {
    if ((code >= 0xD800 && code <= 0xDFFF) || code === 9 || code === 10) continue;
    // Behind a letter, to which marks belong.
    const text = `a${String.fromCodePoint(code)}`;
    if ((visible(text) !== text) !== wanted.has(code)) wrong.push(code.toString(16));
  }
  assert.deepEqual(wrong, []);
});

test('a mark that belongs to no letter, or is one too many, is written out as the command line does', () => {
  const vectors = readFileSync(new URL('../EndToEndTests/Vectors/marks.jsonl', import.meta.url), 'utf8').trimEnd();
  for (const { text, shown } of vectors.split('\n').map((line) => JSON.parse(line))) assert.equal(visible(text), shown);
});

test('a number that no calendar has is no time', () => {
  for (const time of [0, 1_795_217_000_000, -8.64e15]) assert.ok(isTime(time));
  for (const time of [2 ** 53, -(2 ** 63), NaN, Infinity]) assert.ok(!isTime(time));
});
