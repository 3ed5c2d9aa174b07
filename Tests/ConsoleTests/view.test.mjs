import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readView, takeToken, viewHash } from '../../Sources/WaypostConsole/Page/view.js';

test('a view comes back from its address as it was', () => {
  for (const view of [
    { page: 'fleet', name: '', options: {} },
    { page: 'fleet', name: '', options: { filter: 'a&b=c#d?e', sort: 'heard', desc: '1' } },
    { page: 'log', name: '', options: { q: "url~:'^app://(a|b)' -tag:\"x y\" 100%", at: '1795217000000' } },
    { page: 'agent', name: 'kiosk/7 é%', options: { tab: 'log' } },
  ]) {
    assert.deepEqual(readView(viewHash(view.page, view.name, view.options)), view);
  }
});

test('equal views have equal addresses', () => {
  assert.equal(viewHash('log', '', { q: 'a', at: null, level: '' }), viewHash('log', '', { level: undefined, q: 'a' }));
  assert.equal(viewHash('x', '', { b: 1, a: 2 }), viewHash('x', '', { a: 2, b: 1 }));
});

test('no address is the fleet, and a broken one is no error', () => {
  assert.equal(readView('').page, 'fleet');
  assert.equal(readView('#').page, 'fleet');
  assert.equal(readView('#/agent/%E0%A4%A').name, '%E0%A4%A');
});

test('the token is taken out of the address wherever it stands', () => {
  assert.deepEqual(takeToken('#token=abc'), { token: 'abc', hash: '' });
  assert.deepEqual(takeToken('#token=a%2Bb&/log?q=x'), { token: 'a+b', hash: '#/log?q=x' });
  assert.deepEqual(takeToken('#/log?q=x&token=abc'), { token: 'abc', hash: '#/log?q=x' });
  assert.deepEqual(takeToken('#/log?token=abc&q=x'), { token: 'abc', hash: '#/log?q=x' });
  assert.deepEqual(takeToken('#/log?q=mytoken=abc'), { token: null, hash: '#/log?q=mytoken=abc' });
  assert.deepEqual(takeToken('#/fleet'), { token: null, hash: '#/fleet' });
});

test('no character of a name or of an option changes the address or what is read from it', () => {
  const marks = ['\n', '\r\n', '\r', '\u2028', '\u0085', '\0', '\ufeff', '+', '%2B', '%', ' ', '&', '=', '#', '?', '/', '"', "'",
    '\u202e', '\u0301', '\u{e0001}', '😀'];
  for (const mark of marks) {
    for (const text of [mark, `a${mark}`, `${mark}b`, `a${mark}b`]) {
      const view = { page: 'log', name: text, options: { q: text, token: text } };
      const hash = viewHash(view.page, view.name, view.options);
      assert.deepEqual(readView(hash), view, JSON.stringify(text));
      assert.match(hash, /^#[!-~]*$/, JSON.stringify(text));
    }
  }
});
