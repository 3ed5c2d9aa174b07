// Small pictures, drawn by script: the page loads nothing but itself.

const SVG = 'http://www.w3.org/2000/svg';

/** @type {Record<string, string>} paths in a square of 16 */
const PATHS = {
  fleet: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  maps: 'M2.5 4 6 2.5l4 1.5 3.5-1.5v9.5L10 13.5 6 12l-3.5 1.5zM6 2.5V12M10 4v9.5',
  rollouts: 'M2.5 13.5v-3M6.2 13.5V8M9.8 13.5V5.5M13.5 13.5v-11',
  where: 'M3 13V9.5a3 3 0 0 1 3-3h7M10 3.5l3 3-3 3',
  log: 'M2.5 4h11M2.5 7h7M2.5 10h11M2.5 13h5',
  failures: 'M8 2.5 14.2 13.5H1.8zM8 6.5v3.2M8 11.4v.4',
  commands: 'M3 4.5 6.5 8 3 11.5M8 12h5.5',
  console: 'M1.8 8.5h3L6.6 4l2.8 8 1.8-3.5h3',
  agent: 'M3 2.5h10v11H3zM5.5 5.5h5M6.8 11h2.4',
  ok: 'M3 8.5 6.5 12 13 4.5',
  bad: 'M4 4l8 8M12 4l-8 8',
  warn: 'M8 2.5 14.2 13.5H1.8zM8 6.5v3.2M8 11.4v.4',
  lost: 'M2 6.5a8.6 8.6 0 0 1 12 0M4.5 9.3a5 5 0 0 1 7 0M8 12.3v.4M2.5 2.5l11 11',
  unknown: 'M5.6 6a2.4 2.4 0 1 1 3.5 2.1C8.3 8.5 8 9 8 9.8M8 12v.4',
  stopped: 'M4 4h8v8H4z',
  unclear: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5.5V8.5M8 10.6v.4',
  mapRefused: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M4.2 4.2l7.6 7.6',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3l3.4 3.4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M4.5 3v10l8-5z',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  down: 'M8 3v10M4 9l4 4 4-4',
  help: 'M5.6 6a2.4 2.4 0 1 1 3.5 2.1C8.3 8.5 8 9 8 9.8M8 12v.4',
  close: 'M4 4l8 8M12 4l-8 8',
  add: 'M8 3v10M3 8h10',
  remove: 'M3 8h10',
  change: 'M3 6h8.5L9 3.5M13 10H4.5L7 12.5',
  wait: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.4',
  link: 'M6.5 9.5l3-3M7 4.5l1.3-1.3a3 3 0 0 1 4.4 4.4L11.5 9M9 11.5l-1.3 1.3a3 3 0 0 1-4.4-4.4L4.5 7',
  plain: 'M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3',
};

/** @param {string} name @param {Record<string, string | number>} [attributes] @returns {SVGElement} */
export function svg(name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

// An icon that says nothing by itself; the word stands beside it.
/** @param {string} name */
export function icon(name) {
  const element = svg('svg', { viewBox: '0 0 16 16', class: 'icon', 'aria-hidden': 'true' });
  element.append(svg('path', { d: PATHS[name] ?? PATHS.plain }));
  return element;
}
