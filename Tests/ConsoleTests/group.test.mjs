import assert from 'node:assert/strict';
import { test } from 'node:test';
import { components, lanes, routeTree, timeline } from '../../Sources/WaypostConsole/Page/group.js';

const NOON = new Date(2026, 10, 26, 12).getTime();
const event = (t, title, more = {}) => ({ t, kind: 'state', title, detail: '', tone: 'plain', ref: null, code: null, url: null, count: 1, ...more });

test('events come newest first under their day', () => {
  const items = timeline([event(NOON - 86_400_000, 'lost'), event(NOON, 'online')]);
  assert.deepEqual(items.map((item) => item.day ?? item.event.title), ['2026-11-26', 'online', '2026-11-25', 'lost']);
});

test('the same thing in a row is one with a count, and not over midnight or another thing', () => {
  const midnight = new Date(2026, 10, 26).getTime();
  const events = [event(NOON, 'failed', { count: 3 }), event(NOON - 1, 'failed'), event(NOON - 2, 'lost'), event(NOON - 3, 'failed'),
    event(midnight, 'beat'), event(midnight - 1, 'beat')];
  const items = timeline(events);
  assert.deepEqual(items.map((item) => item.day ?? `${item.event.title} ${item.event.count}`),
    ['2026-11-26', 'failed 4', 'lost 1', 'failed 1', 'beat 1', '2026-11-25', 'beat 1']);
  assert.equal(events[0].count, 3, 'what was given is not changed');
});

test('a path has its scheme as the first component', () => {
  assert.deepEqual(components('app://shop/:id'), ['app://', 'shop', ':id']);
  assert.deepEqual(components('shop/:id'), ['shop', ':id']);
});

const route = (path) => ({ path, class: 'C', name: '', priority: 0, jumpType: null, parameters: [], summary: '' });
const redirect = (from, to) => ({ from, to, layer: '@lobby', entry: 0, active: true, reason: null });

test('a tree has each route below its parent, and the ends of redirects', () => {
  const rows = routeTree([route('app://shop'), route('app://shop/:id'), route('app://home')], [redirect('app://old?x=1', 'app://shop/42')]);
  assert.deepEqual(rows.map(({ path, depth, route: own, isOrigin }) => [path, depth, own !== null, isOrigin]), [
    ['app://', 0, false, false], ['app://home', 1, true, false], ['app://old', 1, false, true], ['app://shop', 1, true, false],
    ['app://shop/42', 2, false, true], ['app://shop/:id', 2, true, false]]);
});

test('arcs that overlap have lanes of their own, the short ones inside', () => {
  assert.deepEqual(lanes([{ from: 0, to: 9 }, { from: 2, to: 4 }, { from: 6, to: 5 }]), [1, 0, 0]);
  assert.deepEqual(lanes([{ from: 0, to: 3 }, { from: 3, to: 6 }]), [0, 1]);
  assert.deepEqual(lanes([]), []);
});
