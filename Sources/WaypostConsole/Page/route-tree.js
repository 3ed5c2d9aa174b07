// The routes of a build as a tree, and beside it its redirects as arcs.
import { badge, code, emptyState, fill, h, hint, table } from './dom.js';
import { lanes, routeTree, withoutQuery } from './group.js';
import { svg } from './icons.js';
import { plural } from './time.js';

/** @typedef {import('./types.js').Route} Route */
/** @typedef {import('./types.js').Redirect} Redirect */

const ROW = 24;
const INDENT = 16;
const LANE = 12;
/** The most rows that are drawn; a larger tree is narrowed by its filter. */
const MOST = 300;
const MOST_REDIRECTS = 50;

export class RouteTree extends HTMLElement {
  /** @param {{ routes: Route[], redirects: Redirect[], open?: (url: string) => void }} tree */
  show({ routes, redirects, open }) {
    const search = h('input', { type: 'search', 'aria-label': 'Filter routes', placeholder: 'Filter routes',
      oninput: () => draw() });
    const place = h('div', { class: 'tree-place' });
    const words = h('div', { class: 'stack' });
    const facts = h('p', { class: 'hint', role: 'status' });
    const draw = () => {
      const part = search.value.trim().toLowerCase();
      const some = redirects.filter(({ from, to }) => `${from} ${to}`.toLowerCase().includes(part));
      const ends = new Set(some.flatMap(({ from, to }) => [withoutQuery(from), withoutQuery(to)]));
      const rows = routeTree(routes.filter((route) =>
          `${route.path} ${route.class}`.toLowerCase().includes(part) || ends.has(route.path)), some);
      const shown = rows.slice(0, MOST);
      const inactive = redirects.filter(({ active }) => !active).length;
      facts.textContent = [plural(routes.length, 'route'), plural(redirects.length, 'redirect'),
        inactive ? `${inactive} not in force` : '',
        shown.length < rows.length ? `the first ${MOST} of ${rows.length} rows; filter to see others`
          : ''].filter(Boolean).join(' · ');
      fill(place, rows.length ? picture(shown, some, open)
          : emptyState('where', part ? 'No route fits' : 'This build has no routes'));
      fill(words, some.length ? table('Redirects', ['From', 'To', 'By', 'State'],
        some.slice(0, MOST_REDIRECTS).map(({ from, to, layer, entry, active, reason }) => [
          code(from), code(to), `${layer}, entry ${entry}`,
          [active ? badge('ok', 'in force') : badge('warn', 'not in force', 'stopped'),
            reason ? ` ${reason}` : null]])) : null,
        some.length > MOST_REDIRECTS ? hint(`${MOST_REDIRECTS} of ${some.length} redirects; filter to see others`)
          : null);
    };
    fill(this, h('div', { class: 'tree-head' }, search, facts, h('p', { class: 'legend' },
      h('span', { class: 'legend-active' }, 'redirect'), h('span', { class: 'legend-inactive' }, 'not in force'))),
      place, words);
    draw();
  }
}

/** @param {import('./group.js').TreeNode[]} rows @param {Redirect[]} redirects @param {((url: string) => void) | undefined} open */
function picture(rows, redirects, open) {
  const at = new Map(rows.map((row, index) => [row.path, index]));
  const arcs = redirects.flatMap((redirect) => {
    const from = at.get(clean(redirect.from));
    const to = at.get(clean(redirect.to));
    return from === undefined || to === undefined ? [] : [{ from, to, redirect }];
  });
  const places = lanes(arcs);
  const side = 14 + (Math.max(-1, ...places) + 1) * LANE + 10;
  /** Where the text of each row ends, about: its font has one width. */
  const ends = rows.map(({ depth, label, route, isOrigin }) =>
      depth * INDENT + 14 + label.length * 7.3 + (route ? Math.min(44, (route.class || route.name || '').length) * 6.7
          : isOrigin ? 56 : 0));
  const textWidth = Math.max(200, ...ends) + 24;
  const width = textWidth + side;
  const height = rows.length * ROW;
  const middle = (/** @type {number} */ row) => row * ROW + ROW / 2;
  const image = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, class: 'tree', role: 'group',
    'aria-label': 'Routes and redirects' });
  const marker = svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7,
    orient: 'auto-start-reverse' });
  marker.append(svg('path', { d: 'M0 0 8 4 0 8z', class: 'arrow' }));
  const defs = svg('defs');
  defs.append(marker);
  image.append(defs);
  /** @type {number[]} the row of the last node of each depth */
  const parents = [];
  rows.forEach(({ label, depth, route, isOrigin, path }, index) => {
    parents.length = depth;
    parents[depth] = index;
    const x = depth * INDENT;
    if (depth > 0) {
      image.append(svg('path',
        { class: 'branch', d: `M${x - INDENT + 6} ${middle(parents[depth - 1]) + 7}V${middle(index)}H${x}` }));
    }
    const name = svg('text', { x: x + 4, y: middle(index) + 4,
      class: route ? 'node' : isOrigin ? 'node is-origin' : 'node is-part' });
    const labelText = svg('tspan');
    labelText.textContent = label;
    name.append(labelText);
    const more = svg('tspan', { class: 'node-class', dx: 8 });
    more.textContent = route ? short(route.class || route.name || '', 44) : isOrigin ? 'no route' : '';
    name.append(more);
    const title = svg('title');
    title.textContent = route ? [path, route.class, route.summary,
      route.priority ? `priority ${route.priority}` : ''].filter(Boolean).join('\n') : isOrigin
      ? `${path}\nonly redirects name it` : path;
    name.append(title);
    if (open && (route || isOrigin)) {
      const anchor = svg('a', { href: '#', 'aria-label': `Where does ${path} go?` });
      anchor.addEventListener('click', (event) => { event.preventDefault(); open(path); });
      anchor.append(name);
      image.append(anchor);
    } else image.append(name);
  });
  for (const row of new Set(arcs.flatMap(({ from, to }) => [from, to]))) {
    image.append(svg('path', { class: 'leader', d: `M${ends[row] + 6} ${middle(row)}H${textWidth}` }));
  }
  arcs.forEach(({ from, to, redirect }, index) => {
    const x = textWidth + 4;
    const far = x + 14 + places[index] * LANE;
    const [start, stop] = [middle(from), middle(to)];
    const step = from === to ? 0 : Math.min(8, Math.abs(stop - start) / 2) * Math.sign(stop - start);
    const arc = svg('path', {
      class: redirect.active ? 'arc' : 'arc is-inactive', 'marker-end': 'url(#arrow)',
      d: from === to ? `M${x} ${start - 4}C${far} ${start - 10} ${far} ${start + 10} ${x} ${start + 4}`
        : [`M${x} ${start}H${far - 8}Q${far} ${start} ${far} ${start + step}`,
          `V${stop - step}Q${far} ${stop} ${far - 8} ${stop}H${x}`].join(''),
    });
    const title = svg('title');
    title.textContent = [`${redirect.from} → ${redirect.to}`, `${redirect.layer}, entry ${redirect.entry}`,
      redirect.active ? 'in force' : 'not in force', redirect.reason].filter(Boolean).join('\n');
    arc.append(title);
    image.append(arc);
  });
  return image;
}

// As the tree writes a path.
/** @param {string} url */
const clean = (url) => withoutQuery(url).replace(/(?<!:\/)\/+$/, '');

/** @param {string} text @param {number} most */
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

customElements.define('route-tree', RouteTree);
