// Maps as people read them: entries in force, and what a draft would change.
import { badge, emptyState, h, link, since, table } from './dom.js';
import { icon } from './icons.js';
import { exact, plural } from './time.js';
import { viewHash } from './view.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Layer} Layer */
/** @typedef {import('./types.js').Diff} Diff */

/** The most entries of one kind that are drawn; a map may have 2 000. */
const MOST = 60;

// What an entry does, in words.
/** @param {Entry} entry */
export function entryText(entry) {
  const origin = h('code', null, entry.origin || entry.path || '?');
  switch (entry.type) {
    case 'add': return [origin, ' opens ', h('code', null, entry.className ?? '?')];
    case 'delete': return [origin, ' is deleted'];
    case 'reset': return [origin, ' is as the build has it'];
    case 'replace': return [origin, ' → ', h('code', null, entry.target ?? '?')];
    default: return [entry.text ?? origin];
  }
}

/** @param {unknown} when */
const condition = (when) => (when ? h('code', { class: 'when' }, typeof when === 'string' ? when : JSON.stringify(when)) : null);

/** @param {{ asOf: number, layers: Layer[] }} maps @param {string} agent */
export function layersView({ asOf, layers }, agent) {
  if (!layers.length) return emptyState('maps', 'No map is in force', 'Each URL goes where the build says.');
  return h('div', { class: 'layers' }, h('p', { class: 'hint' }, 'In the order in which they act, ', since(asOf, 'as of '), '. ',
    link(viewHash('maps', '', { target: agent }), 'Send, compare or undo')),
  layers.map((layer) => {
    const out = layer.entries.filter(({ state }) => state !== 'active').length;
    return h('section', { class: 'card' }, h('header', { class: 'card-head' }, h('h2', null, layer.layer),
      h('span', null, layer.revision === null ? 'no revision' : `rev ${layer.revision}`), h('span', { class: 'hint', title: layer.digest }, layer.digest.replace(/^sha256:/, '').slice(0, 10)),
      h('span', { class: 'hint' }, layer.by ? `by ${layer.by}, ` : '', since(layer.since, 'since ')),
      layer.expires ? h('span', { title: exact(layer.expires) }, since(layer.expires, 'expires ')) : null,
      out ? badge('warn', plural(out, 'entry not in force', 'entries not in force')) : badge('ok', 'all in force')),
    table(`Entries of ${layer.layer}`, ['No.', 'Entry', 'When', 'State'], cut(layer.entries).map((entry) => [
      String(entry.number), entryText(entry), condition(entry.when),
      [entry.state === 'active' ? badge('ok', 'in force') : badge('warn', entry.state === 'expired' ? 'expired' : 'not in force', entry.state === 'expired' ? 'wait' : 'stopped'), entry.reason ? ` ${entry.reason}` : null]])),
    cutLine(layer.entries.length));
  }));
}

// Trouble first, and not more than can be looked at.
/** @template T @param {T[]} entries */
function cut(entries) {
  if (entries.length <= MOST) return entries;
  const isOut = (/** @type {any} */ entry) => 'state' in entry && entry.state !== 'active';
  return [...entries.filter(isOut), ...entries.filter((entry) => !isOut(entry))].slice(0, MOST);
}

/** @param {number} length */
const cutLine = (length) => (length > MOST ? h('p', { class: 'hint' }, icon('warn'), ` ${MOST} of ${length} are shown, those not in force first; the shell has all: waypost map show`) : null);

/** @param {{ diffs: Diff[], silent?: string[], offline?: string[] }} answer */
export function diffView({ diffs, silent = [], offline = [] }) {
  return h('div', { class: 'diffs' },
    offline.length ? h('p', { class: 'notice-line' }, icon('lost'), `${plural(offline.length, 'agent')} offline: ${some(offline)}. The broker keeps the map for them.`) : null,
    silent.length ? h('p', { class: 'notice-line' }, icon('warn'), `${plural(silent.length, 'agent')} did not answer: ${some(silent)}. What changes there is not known.`) : null,
    diffs.map(oneDiff), diffs.length ? null : emptyState('change', 'No agent told what would change'));
}

/** @param {Diff} diff */
function oneDiff(diff) {
  const { added, removed, changed, refusal, destinations, inactive } = diff;
  const line = (/** @type {string} */ kind, /** @type {string} */ word, /** @type {Entry} */ entry, /** @type {Entry} */ before = entry) =>
    h('li', { class: `diff-line is-${kind}` }, h('span', { class: 'diff-sign' }, icon(kind), h('span', { class: 'visually-hidden' }, word)),
      h('span', { class: 'diff-number' }, String(entry.number)), h('span', null, ...entryText(entry), ' ', condition(entry.when),
        before === entry ? null : h('span', { class: 'diff-before' }, 'before: ', ...entryText(before), ' ', condition(before.when))));
  const lines = [...removed.map((entry) => line('remove', 'removed', entry)), ...changed.map(({ before, after }) => line('change', 'changed', after, before)),
    ...added.map((entry) => line('add', 'added', entry))];
  return h('section', { class: 'card' }, h('header', { class: 'card-head' }, h('h3', null, plural(diff.agents.length, 'agent')), h('span', { class: 'hint' }, some(diff.agents)),
    refusal ? badge('bad', 'would refuse it') : lines.length
      ? h('span', { class: 'diff-counts' }, badge('ok', `${added.length} added`, 'add'), badge('bad', `${removed.length} removed`, 'remove'), badge('warn', `${changed.length} changed`, 'change'))
      : badge('plain', 'nothing changes', 'ok')),
  refusal ? h('p', { class: 'fault' }, icon('bad'), h('span', null, h('b', null, `${refusal.code} ${refusal.name}`), ` ${refusal.detail}`)) : null,
  lines.length ? h('ul', { class: 'diff' }, cut(lines)) : null, cutLine(lines.length),
  destinations?.length ? [h('h4', null, 'What leads somewhere else'), table('Destinations', ['URL', 'Before', 'After'], cut(destinations).map(({ subject, before, after }) =>
    [h('code', null, subject), h('code', null, before ?? 'nowhere'), after === null ? badge('bad', 'nowhere') : h('code', null, after)]))] : null,
  inactive?.length ? [h('h4', null, 'Would not be in force'), h('ul', { class: 'plain' }, cut(inactive).map(({ number, entry, reason }) =>
    h('li', null, badge('warn', `entry ${number}`, 'stopped'), ' ', ...entryText(entry), h('span', { class: 'hint' }, ` ${reason}`))))] : null);
}

/** @param {string[]} names */
export const some = (names) => names.slice(0, 5).join(', ') + (names.length > 5 ? ` and ${plural(names.length - 5, 'other')}` : '');
