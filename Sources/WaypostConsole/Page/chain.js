// Where a URL goes, hop by hop.
import { agentLinks, badge, code, h } from './dom.js';
import { icon } from './icons.js';
import { plural } from './time.js';

/** @typedef {import('./types.js').Resolution} Resolution */

/** @param {Resolution} result */
export function chain(result) {
  const { agents, count, failure } = result;
  const head = h('header', { class: 'card-head' },
    h('h2', null, count === 1 ? agents[0] : plural(count, 'agent')),
    result.build ? h('span', { class: 'hint', title: result.build },
      result.build) : null,
    result.silent ? badge('warn', 'no answer', 'lost') : failure ? badge('bad', 'goes nowhere') : badge('ok', 'opens'));
  const names = agents.length > 1 ? h('p', { class: 'names' }, agentLinks(agents, 6)) : null;
  if (result.silent) {
    return h('article', { class: 'card' }, head, names,
      h('p', null, 'It did not answer; it may be offline, or not let this sender ask.'));
  }
  const steps = [
    h('li', { class: 'hop' }, code(result.url), h('span', { class: 'hint' }, 'asked for')),
    ...result.hops.map(({ to, layer, entry, route }) => h('li', { class: 'hop' }, icon('down'), code(to),
      h('span', { class: 'hint' },
        `redirected by ${layer}${entry === null ? '' : `, entry ${entry}`}${route ? ` (${route})` : ''}`))),
    result.route && !failure ? h('li', { class: 'hop' }, icon('down'), h('span', null, 'route ', code(result.route)),
      result.interceptors.length ? h('span', { class: 'hint' },
        `asked on the way: ${result.interceptors.join(', ')}`)
        : h('span', { class: 'hint' }, 'no interceptor is asked')) : null,
    failure ? h('li', { class: 'hop is-bad' }, icon('bad'),
      h('span', null, h('b', null, `${failure.code} ${failure.name}`), ` ${failure.detail}`),
      failure.nearest?.length ? h('span', { class: 'hint' }, `did you mean ${failure.nearest.join(', ')}?`) : null)
      : h('li', { class: 'hop is-end' }, icon('ok'), h('b', null, result.screen ?? result.final ?? 'a handler'),
        h('span', { class: 'hint' }, result.screen ? 'screen' : 'handled there')),
  ];
  return h('article', { class: 'card' }, head, names, h('ol', { class: 'chain' }, steps));
}
