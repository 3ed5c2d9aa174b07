// What stands above the list of agents: what is wrong, the same thing of many agents as one; or versions, or groups.
import { CONDITIONS, badge, conditionBadge, h, since } from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { count, plural } from './time.js';

/** @typedef {import('./types.js').Fleet} Fleet */
/** @typedef {import('./types.js').Problem} Problem */
/** @typedef {(options: Record<string, string>) => void} Change */

/** The most cards of versions or groups. */
const MOST = 40;

/** @param {Fleet} fleet @param {Record<string, string>} options of the view @param {Change} change */
export function fleetTop(fleet, options, change) {
  const { by = '' } = options;
  if (by === 'version' || by === 'group') {
    const parts = by === 'version'
      ? fleet.versions.map(({ version, ...rest }) => ({ name: version, ...rest }))
      : fleet.groups.map(({ group, ...rest }) => ({ name: group, ...rest, problems: 0 }));
    const cards = parts.slice(0, MOST).map((part) =>
        partCard(part, fleet.total, options[by] === part.name, by, change));
    return [h('div', { class: 'versions', role: 'list', 'aria-label': by === 'version' ? 'Versions' : 'Groups' },
      cards)];
  }
  const comingIn = fleet.complete ? null : h('p', { class: 'calm' }, fleet.gap
    ? badge('warn', `Agents may be missing: ${fleet.gap}.`, 'warn')
    : badge('plain', 'The states that the broker keeps are still coming in.', 'wait'));
  const cards = fleet.problems.map((problem) => problemCard(problem, problem.text === options.problem, change));
  return [comingIn, cards.length ? h('div', { class: 'problems', role: 'list', 'aria-label': 'Problems' }, cards)
      : wellLine(fleet)];
}

// That nothing is wrong, where that is so; old data does not show that all is well now.
/** @param {Fleet} fleet */
function wellLine({ total, complete, counts, asOf }) {
  if (!total || !complete || counts.lost || counts.failing || counts.mapRefused || counts.unclear) return null;
  const isFresh = live.freshness === 'fresh';
  const parked = (counts.stopped ?? 0) + (counts.unknown ?? 0);
  const time = isFresh ? asOf : Math.min(asOf, live.status?.asOf ?? asOf);
  return h('p', { class: isFresh ? 'calm is-well' : 'calm' }, icon(isFresh ? 'ok' : 'wait'), h('span', null,
    h('b', null, isFresh ? 'Nothing is wrong. ' : 'Nothing was wrong when the console last heard. '),
    `${plural(counts.healthy ?? 0, 'agent')} healthy`, parked ? `, ${count(parked)} shut down or not known` : '', ', ',
    since(time, 'as of '), '.'));
}

/** @param {Problem} problem @param {boolean} isOn @param {Change} change */
function problemCard({ text, condition, count: agents, agents: some, since: from }, isOn, change) {
  return h('div', { role: 'listitem' }, h('button', {
    type: 'button', class: `problem-card condition-${condition}`, 'aria-pressed': String(isOn), title: text,
    onclick: () => change({ problem: isOn ? '' : text }),
  }, h('span', { class: 'problem-head' }, conditionBadge(condition), h('b', null, plural(agents, 'agent')),
    since(from, 'since ')),
    h('span', { class: 'problem-text' }, text || CONDITIONS[condition][1]),
    h('span', { class: 'problem-agents' }, some.slice(0, 3).join(', ') + (agents > 3 ? ', …' : ''))));
}

/**
 * @param {{ name: string, count: number, problems: number }} part
 * @param {number} total
 * @param {boolean} isOn
 * @param {string} by
 * @param {Change} change
 */
function partCard({ name, count: agents, problems }, total, isOn, by, change) {
  const bar = h('span');
  bar.style.width = `${(agents / Math.max(1, total)) * 100}%`;
  return h('div', { role: 'listitem' }, h('button', {
    type: 'button', class: `problem-card ${problems ? 'condition-failing' : ''}`, 'aria-pressed': String(isOn),
    onclick: () => change({ [by]: isOn ? '' : name }),
  }, h('span', { class: 'problem-head' }, h('b', null, by === 'group' ? `@${name}` : name), plural(agents, 'agent'),
    problems ? badge('bad', plural(problems, 'problem')) : null), h('span', { class: 'version-bar' }, bar)));
}
