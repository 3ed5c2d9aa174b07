// Which map is being rolled out, how far is it, and is it good?
import { get } from './api.js';
import { ask } from './ask.js';
import {
  badge, button, cliLine, emptyState, field, fill, h, hint, noticeLine, since, table, tileList,
} from './dom.js';
import { live } from './live.js';
import { Page } from './page.js';
import { count, duration, plural, trimmed } from './time.js';

/** @typedef {import('./types.js').Rollout} Rollout */

/** @type {Record<string, [string, string, string]>} tone, picture and words of a state */
const STATES = {
  running: ['ok', 'play', 'running'], paused: ['warn', 'pause', 'paused'],
  'taking-back': ['bad', 'wait', 'is being taken back'], 'taken-back': ['bad', 'bad', 'taken back'],
  promoting: ['ok', 'wait', 'becomes the base'], done: ['ok', 'ok', 'done'],
};

/** @type {Record<string, [string, string]>} tone and picture of a verdict */
const VERDICTS = { pass: ['ok', 'ok'], breach: ['bad', 'bad'], inconclusive: ['plain', 'wait'] };

export class RolloutsPage extends Page {
  constructor() {
    super();
    /** What is drawn, so that it is drawn again only when it changed. */
    this.drawn = '';
    this.place = h('div', { class: 'stack' });
    this.append(this.heading('Roll-outs'), this.notice, this.place);
    const timer = setInterval(() => { if (!document.hidden) this.ask(); }, 1_000);
    this.end.signal.addEventListener('abort', () => clearInterval(timer));
    this.onLive('opened', () => this.ask());
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    this.ask();
  }

  ask() {
    void this.load('rollouts', (signal) => get('/api/rollouts', {}, signal), ({ asOf, rollouts }) => {
      this.dated(asOf);
      this.draw(rollouts);
    }, this.place);
  }

  /** @param {Rollout[]} rollouts those that go on first */
  draw(rollouts) {
    const key = JSON.stringify([rollouts, live.canCommand]);
    // A dialog over the page, or a button under the pointer, is not taken away once a second.
    if (key === this.drawn) return;
    this.drawn = key;
    fill(this.place, rollouts.length ? rollouts.map((one) => rolloutView(one, () => this.ask()))
      : emptyState('rollouts', 'No map is being rolled out',
        h('p', null, 'Start one from the shell; it appears here.'),
        cliLine('waypost rollout start --group lobby --file map.json')));
  }
}

/** @param {Rollout} rollout @param {() => void} again */
function rolloutView(rollout, again) {
  const { group, id, state, by, why, changed, holder, base, next, standstill, remaining } = rollout;
  const [tone, picture, word] = STATES[state] ?? ['warn', 'unknown', state];
  const isOver = state === 'done' || state === 'taken-back';
  return h('section', { class: 'card rollout', 'aria-label': `@${group} ${id}` },
    h('div', { class: 'card-head' }, h('h2', null, `@${group}`), badge(tone, word, picture),
      h('span', { class: 'hint' }, `${id}, map ${revision(base)} → ${revision(next)}`), acts(rollout, again)),
    stagesView(rollout),
    h('p', { class: 'rollout-why' }, why ?? '', ' ',
      h('span', { class: 'hint' }, by ? `${by}, ` : '', since(changed),
        holder && !isOver ? `; steered by ${holder}` : '')),
    isOver || holder ? null : noticeLine('warn', 'Nothing steers it: agents keep what they have. ',
      h('code', null, `waypost rollout resume --group ${group}`), ' goes on.'),
    standstill && !isOver ? noticeLine('wait', standstill) : null,
    rollout.notices.map((text) => noticeLine('warn', text)),
    // Without a controller nothing is counted.
    isOver ? null : tileList(tiles(rollout, remaining)), gatesView(rollout), logView(rollout));
}

/** @param {number | null} number */
const revision = (number) => (number === null ? 'none' : `rev ${number}`);

// The stages side by side: those that are passed, the one that it is at, and those to come.
/** @param {Rollout} rollout */
function stagesView({ stages, stage, state, online, onNext }) {
  const isBack = state === 'taking-back' || state === 'taken-back';
  const isWhole = state === 'promoting' || state === 'done';
  const fraction = Math.min(1, onNext / Math.max(1, online));
  const bar = h('span', { class: 'bar' });
  bar.style.width = `${fraction * 100}%`;
  return h('div', { class: 'rollout-stages' },
    h('ol', { class: `stages${isBack ? ' is-back' : ''}` }, stages.map(({ name, agents }, index) => {
      const kind = isWhole || (!isBack && index < stage) ? 'past' : !isBack && index === stage ? 'now' : 'ahead';
      return h('li', { class: `stage is-${kind}`, 'aria-current': kind === 'now' ? 'step' : null,
        title: agents === null ? '' : plural(agents, 'agent') }, name);
    })),
    isWhole || isBack ? null : h('div', { class: 'rollout-share' }, h('span', { class: 'bar-place', role: 'img',
      'aria-label': `${trimmed(fraction * 100)} % of the agents online have the candidate` }, bar),
      h('span', null, `${count(onNext)} of ${plural(online, 'agent')} online have the candidate`)));
}

/** @type {Record<string, string>} why a chosen agent has the base, in words */
const REASONS = {
  drifted: 'have another base', guarded: 'went back by themselves', refused: 'refused it', silent: 'heard nothing',
};

/** @param {Rollout} rollout @param {number | null} remaining @returns {(import('./dom.js').Child[] | null)[]} */
function tiles({ chosen, onNext, notOnNext, missing, gates }, remaining) {
  const odd = Object.entries(notOnNext).filter(([, number]) => number > 0);
  const breaches = gates.filter(({ verdict }) => verdict === 'breach').length;
  return [
    ['Chosen', count(chosen), `${count(Math.max(0, chosen - onNext))} not there yet`],
    ['Not with the candidate', odd.length ? badge('warn', count(odd.reduce((sum, [, number]) => sum + number, 0)))
      : badge('ok', 'none'),
      odd.map(([name, number]) => `${count(number)} ${REASONS[name] ?? name}`
        + (missing[name] ? `: ${missing[name].join(', ')}` : '')).join('; ') || null],
    ['Gates', breaches ? badge('bad', `${count(breaches)} breached`) : badge('ok', 'none breached'),
      `${gates.filter(({ verdict }) => verdict === 'inconclusive').length} without a verdict`],
    remaining === null ? null : ['This stage', remaining ? duration(remaining) : 'over', 'at least, before the next'],
  ];
}

/** @param {Rollout} rollout */
function gatesView({ gates }) {
  if (!gates.length) return null;
  const order = ['breach', 'inconclusive', 'pass'];
  const sorted = [...gates].sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict));
  return table('Gates', ['Gate', 'Says', 'Found', 'Limit', 'A breach'], sorted.map((gate) => {
    const [tone, picture] = VERDICTS[gate.verdict] ?? ['warn', 'unknown'];
    return [gate.name, badge(tone, gate.verdict, picture), gate.found, gate.limit,
      gate.breach === 'take-back' ? 'takes it back' : 'pauses it'];
  }));
}

/** @param {Rollout} rollout */
function logView({ log, group }) {
  if (!log.length) return null;
  return h('details', { class: 'rollout-log' }, h('summary', null, `What was decided (${count(log.length)})`),
    table('What was decided', ['When', 'What', 'Why', 'By'],
      log.map(({ at, event, why, by }) => [since(at), event, why ?? '', by])),
    hint('That none is missing or was changed, this checks: ',
      h('code', null, `waypost rollout history --group ${group}`)));
}

// What can be done to it, where the console may.
/** @param {Rollout} rollout @param {() => void} again */
function acts({ group, state }, again) {
  if (!live.canCommand) return null;
  const act = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string} */ text) =>
    button(label, () => {
      const why = h('input', { type: 'text', autocomplete: 'off', maxlength: '200' });
      ask({
        title: `${label.replace('…', '')}: @${group}`, act: label.replace('…', ''), text, confirm: `@${group}`,
        fields: [field('Why', why, 'It stands in the audit.')], body: () => ({ why: why.value.trim() }),
        path: `/api/rollouts/${encodeURIComponent(group)}/${name}`, done: again,
        drawn: ({ detail }) => h('p', null, detail),
      });
    }, { class: name === 'take-back' ? 'danger' : '' });
  const isOn = state === 'running' || state === 'paused';
  return h('span', { class: 'rollout-acts' },
    state === 'running' ? act('pause', 'Pause…',
      'No further agent gets the candidate; those that have it keep it.') : null,
    isOn || state === 'promoting' ? act('take-back', 'Take back…',
      'Each agent goes back to the base that it still has, at once.') : null);
}

customElements.define('page-rollouts', RolloutsPage);
