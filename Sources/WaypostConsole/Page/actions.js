// What can be done to one agent.
import { agentPath, get } from './api.js';
import { ask } from './ask.js';
import { choice, field, fill, h } from './dom.js';
import { fillPattern, kindOf, laterOf, valueOf } from './forms.js';
import { LEVELS, LEVEL_NAMES } from './query.js';
import { span } from './time.js';

/** @typedef {import('./types.js').Contract} Contract */
/** @typedef {import('./forms.js').Field} Field */

/** @param {string} agent @param {() => void} done */
export function askLevel(agent, done) {
  const level = h('select', null, [...LEVELS].map((one) =>
      h('option', { value: one, selected: one === 'D' }, `${one} ${LEVEL_NAMES[one]}`)));
  const time = h('select', null, [['1m', '1 minute'], ['10m', '10 minutes'], ['1h', '1 hour'], ['8h', '8 hours']]
      .map(([value, text]) => h('option', { value, selected: value === '10m' }, text)));
  const tag = h('input', { type: 'text', autocomplete: 'off', placeholder: 'all tags' });
  ask({
    title: `Level of ${agent}'s log`, act: 'Change the level', path: agentPath(agent, '/level'), done,
    text: 'The agent publishes lines of this level and higher, and goes back by itself when the time is over.',
    fields: [h('div', { class: 'field-row' }, field('Level', level), field('For', time), field('Tag', tag))],
    body: () => ({ level: level.value, tag: tag.value.trim() || null, for: span(time.value) }),
  });
}

/** @param {string} agent @param {() => void} done */
export function askForget(agent, done) {
  ask({
    title: `Forget ${agent}`, act: 'Forget it', path: agentPath(agent, '/forget'), confirm: agent, done,
    text: 'Removes what the broker keeps of this agent: state, health and maps. One that still runs comes back.',
    body: () => ({}),
    drawn: ({ cleared }) => h('p', null, cleared.length ? `Removed: ${cleared.join(', ')}.`
        : 'There was nothing to remove.'),
  });
}

/** @param {string} agent @param {string} [first] a route to begin with */
export async function askOpen(agent, first = '') {
  const { routes } = /** @type {Contract} */ (await get(`/api/contract/${encodeURIComponent(agent)}`));
  const pattern = h('input', { type: 'text', list: 'open-routes', value: first || (routes[0]?.path ?? ''),
    spellcheck: 'false', autocomplete: 'off', required: true });
  const place = h('div', { class: 'field-grid' });
  const inputs = new Inputs(place);
  const time = laterFields();
  const draw = () => inputs.show(routes.find(({ path }) => path === pattern.value)?.parameters ?? []);
  pattern.addEventListener('input', draw);
  draw();
  ask({
    title: `Open a screen on ${agent}`, act: 'Open', path: agentPath(agent, '/open'),
    fields: [field('Route or URL', pattern, 'A route of its contract has a field for each parameter.'),
      h('datalist', { id: 'open-routes' }, routes.map(({ path }) => h('option', { value: path }))), place,
      time.row],
    body: () => {
      const { url, rest } = fillPattern(pattern.value.trim(), inputs.values());
      return { url, parameters: rest, ...time.values() };
    },
  });
}

/** @param {string} agent */
export async function askCall(agent) {
  const { services } = /** @type {Contract} */ (await get(`/api/contract/${encodeURIComponent(agent)}`));
  const all = services.flatMap((service) => service.methods.map((method) => ({ service, method })));
  if (!all.length) throw new Error(`${agent} has no service that may be called.`);
  let chosen = all[0];
  const place = h('div', { class: 'field-grid' });
  const time = laterFields();
  const about = h('p', { class: 'hint' });
  const inputs = new Inputs(place);
  const draw = () => {
    const { method } = chosen;
    fill(about, [method.summary, method.result ? `Gives ${method.result}.` : '',
      method.idempotent ? '' : 'Calling it twice does it twice.'].filter(Boolean).join(' '));
    inputs.show(method.parameters.map(({ label, type, optional }) => ({ name: label, type, optional })));
  };
  const select = choice('Method', all.map(({ service, method }, index) =>
      [String(index), `${service.name}.${method.name}`]), '0', (value) => {
        chosen = all[Number(value)];
        draw();
  });
  draw();
  ask({
    title: `Call a service of ${agent}`, act: 'Call', path: agentPath(agent, '/call'),
    fields: [field('Method', select), about, place, time.row],
    body: () => {
      const { parameters } = chosen.method;
      const isLabelled = parameters.every(({ label }) => label !== '' && label !== '_');
      const values = inputs.values();
      return { service: chosen.service.name, method: chosen.method.name,
        arguments: isLabelled ? values : inputs.list(), ...time.values() };
    },
  });
}

// When a command begins; the agent keeps it until then.
function laterFields() {
  const wait = h('input', { type: 'text', autocomplete: 'off', placeholder: 'at once' });
  const times = h('input', { type: 'text', autocomplete: 'off', placeholder: 'at any time' });
  return {
    row: h('div', { class: 'field-row' }, field('Begin in', wait, '30m, 2h'),
      field('Only at', times, 'mon-fri 22:00-04:00, by the agent’s clock')),
    values: () => laterOf(wait.value, times.value),
  };
}

/** The fields of a form that a contract describes. */
class Inputs {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
    /** @type {{ field: Field, input: HTMLInputElement | HTMLSelectElement }[]} */
    this.inputs = [];
  }

  /** @param {Field[]} fields */
  show(fields) {
    this.inputs = fields.map((one, index) => ({ field: { ...one,
      name: one.name === '_' ? `argument ${index + 1}` : one.name }, input: inputFor(one) }));
    fill(this.place, ...this.inputs.map(({ field: one, input }) =>
        field(one.name, input, `${one.type}${one.optional || one.required === false ? ', may be left out' : ''}`)));
  }

  values() {
    /** @type {Record<string, unknown>} */
    const values = {};
    for (const { field: one, input } of this.inputs) {
      const value = valueOf(one, input.value);
      if (value !== undefined) values[one.name] = value;
    }
    return values;
  }

  list() {
    return this.inputs.map(({ field: one, input }) => valueOf(one, input.value) ?? null);
  }
}

/** @param {Field} one */
function inputFor(one) {
  const isOptional = one.optional || one.required === false;
  const values = one.values ?? (kindOf(one.type) === 'boolean' ? ['true', 'false'] : null);
  if (values) return h('select', null, isOptional ? h('option', { value: '' }, '–') : null,
    values.map((value) => h('option', null, value)));
  const kind = kindOf(one.type);
  const mode = kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : 'text';
  return h('input', { type: 'text', inputmode: mode, autocomplete: 'off', spellcheck: 'false' });
}
