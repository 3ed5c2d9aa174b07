// A field for the name of an agent, which suggests those that there are.
import { get } from './api.js';
import { fill, h } from './dom.js';
import { later } from './page.js';

let fields = 0;

/** @param {{ label: string, value: string, placeholder: string, changed: (name: string) => void, groups?: boolean }} options */
export function agentInput({ label, value, placeholder, changed, groups = false }) {
  const id = `agents-${fields += 1}`;
  const names = h('datalist', { id });
  const suggest = async () => {
    try {
      const fleet = /** @type {import('./types.js').Fleet} */ (
        await get('/api/fleet', { filter: input.value.trim().replace(/^@/, ''), sort: 'name', limit: 20 }));
      fill(names, ...(groups ? fleet.groups.map(({ group }) => h('option', { value: `@${group}` })) : []),
        ...fleet.rows.map(({ agent }) => h('option', { value: agent })));
    } catch {
      // Suggestions are no more than that.
    }
  };
  const soon = later(suggest, 200);
  /** @type {HTMLInputElement} */
  const input = h('input', {
    type: 'text', 'aria-label': label, value, placeholder, list: id, autocomplete: 'off', spellcheck: 'false',
    oninput: soon, onfocus: soon, onchange: () => changed(input.value.trim()),
  });
  return { element: h('span', { class: 'agent-input' }, input, names), input };
}
