// Bringing together what belongs together.
import { day } from './time.js';

/** @typedef {import('./types.js').Event} Event */
/** @typedef {import('./types.js').Route} Route */
/** @typedef {import('./types.js').Redirect} Redirect */

/** @typedef {{ day: string } | { event: Event }} TimelineItem */

/**
 * Events, newest first, with a heading for each day; the same thing several times in a row is one with a count.
 * @param {Event[]} events
 * @returns {TimelineItem[]}
 */
export function timeline(events) {
  /** @type {TimelineItem[]} */
  const items = [];
  /** @type {Event | null} */
  let last = null;
  for (const event of [...events].sort((one, other) => other.t - one.t)) {
    if (!last || day(last.t) !== day(event.t)) {
      items.push({ day: day(event.t) });
      last = null;
    }
    if (last && last.kind === event.kind && last.title === event.title && last.detail === event.detail) {
      last.count += event.count;
      continue;
    }
    last = { ...event };
    items.push({ event: last });
  }
  return items;
}

/**
 * @typedef {object} TreeNode
 * @property {string} path the whole path up to here
 * @property {string} label the last component
 * @property {number} depth
 * @property {Route | null} route
 * @property {boolean} isOrigin whether only redirects name it
 */

/**
 * The tree of routes as rows from top to bottom; ends of redirects that no route has are rows too.
 * @param {Route[]} routes
 * @param {Redirect[]} redirects
 * @returns {TreeNode[]}
 */
export function routeTree(routes, redirects) {
  /** @typedef {{ label: string, path: string, route: Route | null, isOrigin: boolean, children: Map<string, Branch> }} Branch */
  /** @type {(label: string, path: string) => Branch} */
  const branch = (label, path) => ({ label, path, route: null, isOrigin: false, children: new Map() });
  const root = branch('', '');
  /** @param {string} path @returns {Branch} */
  const place = (path) => {
    let node = root;
    for (const part of components(path)) {
      let next = node.children.get(part);
      if (!next) {
        const text = node === root || node.path.endsWith('://') ? node.path + part : `${node.path}/${part}`;
        next = branch(part, text);
        node.children.set(part, next);
      }
      node = next;
    }
    return node;
  };
  for (const route of routes) place(route.path).route = route;
  for (const { from, to } of redirects) {
    for (const end of [from, to]) {
      const node = place(withoutQuery(end));
      if (!node.route) node.isOrigin = true;
    }
  }
  /** @type {TreeNode[]} */
  const rows = [];
  const walk = (/** @type {Branch} */ node, /** @type {number} */ depth) => {
    const children = [...node.children.values()].sort((one, other) => (one.label < other.label ? -1 : 1));
    for (const child of children) {
      const { label, path, route, isOrigin } = child;
      rows.push({ label, path, route, isOrigin, depth });
      walk(child, depth + 1);
    }
  };
  walk(root, 0);
  return rows;
}

// `app://shop/:id` → `app://`, `shop`, `:id`.
/** @param {string} path @returns {string[]} */
export function components(path) {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(path)?.[0] ?? '';
  return [scheme, ...path.slice(scheme.length).split('/')].filter(Boolean);
}

/** @param {string} url */
export const withoutQuery = (url) => url.replace(/[?#][^]*$/, '');

/**
 * Places for arcs so that those that overlap lie in different lanes, short ones inside.
 * @param {{ from: number, to: number }[]} arcs rows of their ends
 * @returns {number[]} the lane of each
 */
export function lanes(arcs) {
  const order = arcs.map((_, index) => index)
    .sort((one, other) => length(arcs[one]) - length(arcs[other]) || one - other);
  /** @type {{ low: number, high: number }[][]} */
  const taken = [];
  /** @type {number[]} */
  const result = Array(arcs.length).fill(0);
  for (const index of order) {
    const low = Math.min(arcs[index].from, arcs[index].to);
    const high = Math.max(arcs[index].from, arcs[index].to);
    let lane = taken.findIndex((spans) => spans.every((other) => high < other.low || low > other.high));
    if (lane < 0) lane = taken.push([]) - 1;
    taken[lane].push({ low, high });
    result[index] = lane;
  }
  return result;
}

/** @param {{ from: number, to: number }} arc */
const length = (arc) => Math.abs(arc.from - arc.to);
