// The language of queries, with the vectors that the Swift parser has too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Query, QueryError, check, quoted, replaceTerm } from '../../Sources/WaypostConsole/Page/query.js';

const NOW = 1_795_217_000_000;
const rows = readFileSync(new URL('../EndToEndTests/Vectors/query.jsonl', import.meta.url), 'utf8')
  .split('\n').filter(Boolean).map((row) => JSON.parse(row));
const lines = rows[0].lines.map((row, n) => ({
  n, t: NOW - row.age * 1_000, level: row.level, tag: row.tag, agent: row.agent, message: row.message,
  url: row.url ?? null, ref: row.ref ?? null, trace: row.trace ?? null, code: row.code?.[0] ?? null, name: row.code?.[1] ?? null,
  failure: row.code !== undefined,
}));

test('the vectors are there', () => assert.ok(rows.length > 40));

for (const { query: text, shows, fault } of rows.slice(1)) {
  test(`query ${JSON.stringify(text)} ${fault ? `has the fault ${fault}` : `shows ${shows}`}`, () => {
    if (fault) {
      assert.throws(() => new Query(text), (error) => error instanceof QueryError && error.message.includes(fault));
      return;
    }
    const query = new Query(text);
    assert.deepEqual(lines.filter((line) => query.holds(line, NOW)).map(({ n }) => n), shows);
  });
}

test('a term tells where it stands, so that it can be marked', () => {
  const text = ' tag:a  -message~:"x y"';
  const [one, other] = new Query(text).terms;
  assert.deepEqual([one.start, one.value, one.end], [1, 5, 6]);
  assert.equal(text.slice(other.start, other.end), '-message~:"x y"');
  assert.equal(other.negated, true);
});

test('a fault tells where it stands', () => {
  const { query, error } = check('tag:a levle:W b');
  assert.equal(query, null);
  assert.deepEqual([error.start, error.end], [6, 13]);
});

test('a value with white space or a quote is found again', () => {
  for (const value of ['k1', 'a b', 'say "no"', "it's"]) {
    const [line] = lines;
    assert.equal(new Query(`agent=:${quoted(value)}`).holds({ ...line, agent: value }, NOW), true, value);
  }
});

test('the term of a key is replaced, and the others stay', () => {
  assert.equal(replaceTerm('tag:a level:W -level:F x', 'level', 'level:E'), 'tag:a -level:F x level:E');
  assert.equal(replaceTerm('level:W', 'level', ''), '');
  assert.equal(replaceTerm('message:"a  b" level:W\ttag:c', 'level', 'level:E'), 'message:"a  b" tag:c level:E');
  assert.equal(replaceTerm('level:W message:"a\u2028 \u00a0b\ufeff"', 'level', ''), 'message:"a\u2028 \u00a0b\ufeff"');
});
