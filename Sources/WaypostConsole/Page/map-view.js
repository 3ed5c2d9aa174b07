// Maps as people read them: entries in force, and what a draft would change.
import { partsColumn, textColumn } from './columns.js';
import { badge, code, emptyState, h, hint, link, noticeLine, since, table } from './dom.js';
import { icon } from './icons.js';
import { exact, plural } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Layer} Layer */
/** @typedef {import('./types.js').Diff} Diff */

/** The most changes of one kind that are drawn; a map may have 2 000 entries. */
const MOST = 40;
/** Agents in which the same changes come together; the most such groups that are drawn. */
const MOST_DIFFS = 6;

// What an entry does, in words.
/** @param {Entry} entry */
export function entryText(entry) {
  const origin = code(entry.origin || entry.path || '?');
  switch (entry.type) {
    case 'add': return [origin, ' opens ', code(entry.className ?? '?')];
    case 'delete': return [origin, ' is deleted'];
    case 'reset': return [origin, ' is as the build has it'];
    case 'replace': return [origin, ' → ', code(entry.target ?? '?')];
    default: return [entry.text ?? origin];
  }
}

/** @param {unknown} when */
const condition = (when) => (when ? h('code', { class: 'when' },
  typeof when === 'string' ? when : JSON.stringify(when)) : null);

/** @param {import('./types.js').HeldEntry} entry */
function stateBadge({ state }) {
  if (state === 'active') return badge('ok', 'in force');
  return state === 'expired' ? badge('warn', 'expired', 'wait') : badge('warn', 'not in force', 'stopped');
}

/** @param {Layer} layer */
function layerLine({ layer, revision, digest, by, since: from, expires, entries, refused }) {
  const out = entries.filter(({ state }) => state !== 'active').length;
  return h('span', { class: 'layer-line' }, h('b', null, layer),
    h('span', { title: digest }, revision === null ? 'no revision' : `rev ${revision}`),
    h('span', { class: 'hint' }, by ? `by ${by}, ` : '', since(from, 'since ')),
    expires && h('span', { title: exact(expires) }, since(expires, 'expires ')),
    out ? badge('warn', `${out} of ${entries.length} not in force`, 'stopped')
      : entries.length ? badge('ok', `all ${entries.length} in force`) : badge('plain', 'no entries', 'maps'),
    refused ? h('span', { title: refused.detail }, badge('bad',
      `${refused.revision === null ? 'a map' : `rev ${refused.revision}`} refused: ${refused.code} ${refused.name}`),
      ' ', since(refused.at)) : null);
}

// All entries, each layer under its own line; the one that acts first on top, as waypost map has it.
/** @param {{ asOf: number, layers: Layer[] }} maps @param {string} agent */
export function layersView({ asOf, layers }, agent) {
  if (!layers.length) return emptyState('maps', 'No map is in force', 'Each URL goes where the build says.');
  const items = [...layers].reverse().flatMap((layer) => [{ layer }, ...layer.entries.map((entry) => ({ layer, entry }))]);
  const list = new VirtualList({
    label: 'Entries', source: { count: items.length, get: (index) => items[index] },
    key: ({ layer, entry }) => `${layer.layer} ${entry?.number ?? ''}`,
    whole: ({ layer, entry }) => (entry ? null : layerLine(layer)),
    kind: ({ entry }) => (entry ? '' : 'is-day'),
    columns: [
      textColumn('number', 'No.', ({ entry }) => String(entry.number)),
      partsColumn('entry', 'Entry', ({ entry }) => [h('span', { title: entryTitle(entry) }, ...entryText(entry))]),
      partsColumn('when', 'When', ({ entry }) => [condition(entry.when)]),
      partsColumn('state', 'State', ({ entry }) => [stateBadge(entry)]),
      textColumn('reason', 'Why', ({ entry }) => entry.reason ?? ''),
    ],
  });
  const place = h('div', { class: 'list-place entries' }, list);
  place.style.setProperty('--rows', String(items.length + 1));
  return h('div', { class: 'layers' }, hint('The layer that acts first is on top, ', since(asOf, 'as of '), '. ',
    link(viewHash('maps', '', { target: agent }), 'Send, compare or undo')), place);
}

/** @param {Entry} entry */
const entryTitle = ({ origin, path, target, className }) =>
  [origin || path, target, className].filter(Boolean).join(' → ');

/** @template T @param {T[]} list */
const cut = (list) => list.slice(0, MOST);

/** @param {number} length */
const cutLine = (length) => (length > MOST ? hint(icon('warn'),
  ` ${MOST} of ${length} are shown; the shell has all.`) : null);

// What speaks against a map.
/** @param {import('./types.js').Objection[]} objections */
export const objectionsView = (objections) => objections.map(({ kind, text }) =>
    noticeLine(kind === 'unchecked' || kind === 'loss' ? 'warn' : 'bad', `${text[0].toUpperCase()}${text.slice(1)}.`));

/** @param {{ diffs: Diff[], silent?: string[], offline?: string[], objections?: import('./types.js').Objection[] }} answer */
export function diffView({ diffs, silent = [], offline = [], objections = [] }) {
  return h('div', { class: 'diffs' }, objectionsView(objections),
    offline.length ? noticeLine('lost',
      `${plural(offline.length, 'agent')} offline: ${some(offline)}. The broker keeps the map for them.`) : null,
    silent.length ? noticeLine('warn',
      `What changes at ${plural(silent.length, 'agent')} is not known: ${some(silent)}.`) : null,
    diffs.slice(0, MOST_DIFFS).map(oneDiff),
    diffs.length > MOST_DIFFS ? hint(icon('warn'),
      ` ${plural(diffs.length - MOST_DIFFS, 'other group')} of agents; the shell has all.`) : null,
    diffs.length ? null : emptyState('change', 'No agent told what would change'));
}

/** @param {Diff} diff */
function oneDiff(diff) {
  const { added, removed, changed, refusal, destinations, inactive } = diff;
  const line = (/** @type {string} */ kind, /** @type {string} */ word, /** @type {Entry} */ entry,
    /** @type {Entry} */ before = entry) =>
  h('li', { class: `diff-line is-${kind}` }, h('span', { class: 'diff-sign' }, icon(kind),
    h('span', { class: 'visually-hidden' }, word)),
    h('span', { class: 'diff-number' }, String(entry.number)),
    h('span', null, ...entryText(entry), ' ', condition(entry.when),
      before === entry ? null : h('span', { class: 'diff-before' }, 'before: ', ...entryText(before), ' ',
        condition(before.when))));
  const lines = [...removed.map((entry) => line('remove', 'removed', entry)),
    ...changed.map(({ before, after }) => line('change', 'changed', after, before)),
    ...added.map((entry) => line('add', 'added', entry))];
  return h('section', { class: 'card' }, h('header', { class: 'card-head' },
    h('h3', null, plural(diff.agents.length, 'agent')), h('span', { class: 'hint' }, some(diff.agents)),
    refusal ? badge('bad', 'would refuse it') : lines.length
      ? h('span', { class: 'diff-counts' }, badge('ok', `${added.length} added`, 'add'),
        badge('bad', `${removed.length} removed`, 'remove'), badge('warn', `${changed.length} changed`, 'change'))
      : badge('plain', 'nothing changes', 'ok')),
    refusal ? h('p', { class: 'fault' }, icon('bad'),
      h('span', null, h('b', null, `${refusal.code} ${refusal.name}`), ` ${refusal.detail}`)) : null,
    lines.length ? h('ul', { class: 'diff' }, cut(lines)) : null, cutLine(lines.length),
    destinations?.length ? [h('h4', null, 'What leads somewhere else'),
      table('Destinations', ['URL', 'Before', 'After'], cut(destinations).map(({ subject, before, after }) =>
          [code(subject), code(before ?? 'nowhere'), after === null ? badge('bad', 'nowhere') : code(after)]))] : null,
    inactive?.length ? [h('h4', null, 'Would not be in force'),
      h('ul', { class: 'plain' }, cut(inactive).map(({ number, entry, reason }) =>
          h('li', null, badge('warn', `entry ${number}`, 'stopped'), ' ', ...entryText(entry),
            h('span', { class: 'hint' }, ` ${reason}`))))] : null);
}

/** @param {string[]} names */
export const some = (names) => names.slice(0,
  5).join(', ') + (names.length > 5 ? ` and ${plural(names.length - 5, 'other')}` : '');
