import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOST_ASKED, MOST_ROWS, PagedRows, rowsInSight, scrolledTo } from '../../Sources/WaypostConsole/Page/window.js';

test('what is in sight lies in the window, whatever the size', () => {
  for (const count of [1, 7, 200, 10_000, 50_000]) {
    for (const height of [100, 700, 2_000]) {
      for (const scrollTop of [0, 13, 999, 24 * count]) {
        const { first, last } = rowsInSight({ scrollTop, height, rowHeight: 24, count });
        assert.ok(first >= 0 && last <= count && first < last, `${count} ${height} ${scrollTop}`);
        assert.ok(last - first <= MOST_ROWS);
        const seen = Math.min(Math.floor(scrollTop / 24), count - 1);
        assert.ok(first <= seen && seen < last);
      }
    }
  }
});

test('a list without rows has none', () => {
  assert.deepEqual(rowsInSight({ scrollTop: 50, height: 700, rowHeight: 24, count: 0 }), { first: 0, last: 0 });
});

test('the rows of a high window are bounded', () => {
  const { first, last } = rowsInSight({ scrollTop: 0, height: 100_000, rowHeight: 24, count: 50_000 });
  assert.equal(last - first, MOST_ROWS);
});

test('a row that is in sight is not scrolled to', () => {
  const view = { scrollTop: 240, height: 240, rowHeight: 24 };
  assert.equal(scrolledTo(12, view), 240);
  assert.equal(scrolledTo(3, view), 72);
  assert.equal(scrolledTo(30, view), 504);
});

/** Rows that come when they are told to. */
function slowRows(count) {
  const asked = [];
  let changes = 0;
  const rows = new PagedRows((offset, limit) => new Promise((resolve, reject) => {
    asked.push({ offset, limit, reject, answer: (mark = '') => resolve({ rows: Array.from({ length: limit }, (_, index) => `${mark}${offset + index}`), count }) });
  }), () => { changes += 1; });
  return { rows, asked, changes: () => changes };
}
const turn = () => new Promise((resolve) => { setImmediate(resolve); });

test('only the pages that are looked at are asked for, and once', async () => {
  const { rows, asked } = slowRows(10_000);
  rows.need(195, 240);
  rows.need(195, 240);
  assert.deepEqual(asked.map(({ offset }) => offset), [100, 200]);
  assert.ok(asked.every(({ limit }) => limit <= MOST_ASKED));
  asked.forEach(({ answer }) => answer());
  await turn();
  assert.equal(rows.count, 10_000);
  assert.equal(rows.get(199), '199');
  assert.equal(rows.get(300), undefined);
  rows.need(195, 240);
  assert.equal(asked.length, 2);
});

test('old rows stay until the new have come', async () => {
  const { rows, asked } = slowRows(100);
  rows.need(0, 20);
  asked[0].answer('old ');
  await turn();
  rows.refresh();
  assert.equal(rows.get(3), 'old 3');
  rows.need(0, 20);
  asked[1].answer('new ');
  await turn();
  assert.equal(rows.get(3), 'new 3');
});

test('an answer to an older question is not shown', async () => {
  const { rows, asked } = slowRows(100);
  rows.need(0, 20);
  rows.reset();
  rows.need(0, 20);
  asked[1].answer('new ');
  await turn();
  asked[0].answer('old ');
  await turn();
  assert.equal(rows.get(0), 'new 0');
});

test('what failed is asked for again when something has changed, not at each frame', async () => {
  const { rows, asked, changes } = slowRows(100);
  rows.need(0, 20);
  asked[0].reject(new Error('gone'));
  await turn();
  assert.equal(changes(), 1);
  rows.need(0, 20);
  assert.equal(asked.length, 1);
  rows.refresh();
  rows.need(0, 20);
  assert.equal(asked.length, 2);
});

test('a slow server is not asked faster than it answers', async () => {
  const { rows, asked } = slowRows(100);
  for (let change = 0; change < 5; change += 1) {
    rows.refresh();
    rows.need(0, 20);
  }
  assert.equal(asked.length, 1);
  rows.refresh();
  asked[0].answer('first ');
  await turn();
  assert.equal(rows.get(0), 'first 0');
  rows.need(0, 20);
  assert.equal(asked.length, 2);
});
