// Building elements. Text from outside only ever becomes a text node.
import { icon } from './icons.js';
import { live } from './live.js';
import { ago, exact, isTime, plural, visible } from './time.js';
import { viewHash } from './view.js';

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined | ((event: any) => void)>} Props */

/**
 * An element: functions become listeners, all else attributes; true is an empty one, null and false none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : name === 'title' ? visible(String(value)) : String(value));
    }
  }
  put(element, ...children);
  return element;
}

// Adds children.
/** @param {Element} parent @param {...(Child | Child[])} children */
export function put(parent, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : visible(String(child)));
  }
}

// Replaces what is in an element.
/** @template {Element} E @param {E} parent @param {...(Child | Child[])} children @returns {E} */
export function fill(parent, ...children) {
  parent.replaceChildren();
  put(parent, ...children);
  return parent;
}

// Fills an element again only where what it shows is another, and leaves the focus at the same control: a button that
// is replaced four times a second could not be pressed.
/** @param {HTMLElement} place @param {string} key of what it shows @param {() => Child[]} make */
export function renew(place, key, make) {
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const controls = () => [...place.querySelectorAll('a, button, input, select')];
  const focused = controls().findIndex((control) => control === document.activeElement);
  fill(place, ...make());
  const control = controls()[focused];
  if (control instanceof HTMLElement) control.focus({ preventScroll: true });
}

// A copy of a `template` of the page.
/** @param {string} id @returns {DocumentFragment} */
export function template(id) {
  const element = document.getElementById(id);
  if (!(element instanceof HTMLTemplateElement)) throw new Error(`there is no template ${id}`);
  return /** @type {DocumentFragment} */ (element.content.cloneNode(true));
}

// A time as "3 min ago", with the exact one as its title; kept up by `tick`.
/** @param {number | null} time @param {string} [before] */
export function since(time, before = '') {
  const element = h('time');
  setTime(element, time, before);
  return element;
}

/** @param {HTMLTimeElement} element @param {number | null} time @param {string} [before] */
export function setTime(element, time, before = '') {
  if (time === null || !isTime(time)) {
    delete element.dataset.t;
    element.title = '';
    element.textContent = `${before}not known`;
    return;
  }
  element.dataset.t = String(time);
  element.dataset.before = before;
  element.title = exact(time);
  element.dateTime = new Date(time).toISOString();
  element.textContent = before + ago(time, live.now());
}

/** Brings the relative times of the page up to date. */
export function tick() {
  const now = live.now();
  for (const element of document.querySelectorAll('time[data-t]')) {
    if (!(element instanceof HTMLElement)) continue;
    const text = (element.dataset.before ?? '') + ago(Number(element.dataset.t), now);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** @param {number | null} time */
export function asOf(time) {
  return h('span', { class: 'as-of' }, time === null ? '' : since(time, 'as of '));
}

// An icon with its word: colour is never the only sign.
/** @param {string} tone @param {string} word @param {string} [picture] */
export function badge(tone, word, picture = tone) {
  return h('span', { class: `badge tone-${tone}` }, icon(picture), word);
}

/** @type {Record<import('./types.js').Condition, [string, string]>} tone and word of a condition */
export const CONDITIONS = {
  lost: ['bad', 'lost'], failing: ['bad', 'failing'], mapRefused: ['bad', 'map refused'], unclear: ['warn', 'unclear'],
  unknown: ['plain', 'unknown'], stopped: ['plain', 'shut down'], healthy: ['ok', 'healthy'],
};

/** @type {Record<string, string>} icon of a condition, where it is not its own name */
const CONDITION_ICONS = { failing: 'bad', healthy: 'ok' };

/** @param {import('./types.js').Condition} condition @param {string} [word] */
export function conditionBadge(condition, word) {
  const [tone, name] = CONDITIONS[condition] ?? ['plain', condition];
  return badge(tone, word ?? name, CONDITION_ICONS[condition] ?? condition);
}

/** @param {string} label @param {(event: Event) => void} onclick @param {{ icon?: string, class?: string, title?: string, disabled?: boolean }} [more] */
export function button(label, onclick, more = {}) {
  const { icon: picture, ...rest } = more;
  return h('button', { type: 'button', onclick, ...rest }, picture ? icon(picture) : null, label);
}

// A place where nothing is, and why.
/** @param {string} picture @param {string} title @param {...(Child | Child[])} more */
export function emptyState(picture, title, ...more) {
  return h('div', { class: `empty empty-${picture}` }, icon(picture), h('p', { class: 'empty-title' }, title),
    more.length ? h('div', { class: 'empty-more' }, ...more) : null);
}

/** @param {...(Child | Child[])} children */
export const hint = (...children) => h('p', { class: 'hint' }, ...children);

/** @param {string | null} text */
export const code = (text) => h('code', null, text ?? '?');

/** @param {string} picture @param {...(Child | Child[])} children */
export const noticeLine = (picture, ...children) =>
  h('p', { class: 'notice-line', role: 'status' }, icon(picture), h('span', null, ...children));

// Names with what is known of each; what is null is left out.
/** @param {(Child[] | null)[]} facts @returns {HTMLDListElement} */
export function factList(facts) {
  return h('dl', { class: 'facts' }, facts.map((fact) =>
      fact && h('div', null, h('dt', null, fact[0]), h('dd', null, ...fact.slice(1)))));
}

// Figures in a row: a name, the figure, and more in small.
/** @param {(Child[] | null)[]} tiles @returns {HTMLDListElement} */
export function tileList(tiles) {
  return h('dl', { class: 'tiles' }, tiles.map((tile) => tile && h('div', { class: 'tile' },
    h('dt', null, tile[0]), tile.slice(1).map((part) => part && h('dd', null, part)))));
}

/** @param {import('./types.js').Check[]} checks those that are not well first */
export function checkTable(checks) {
  const order = ['failed', 'unknown', 'ok'];
  const tones = /** @type {Record<string, [string, string]>} */ ({ ok: ['ok', 'ok'], failed: ['bad', 'bad'] });
  const sorted = [...checks].sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  return table('Checks', ['Check', 'State', 'Detail', 'What to do'],
    sorted.map(({ name, state, detail, advice, since: from }) => {
      const [tone, picture] = tones[state] ?? ['warn', 'unknown'];
      return [name, badge(tone, state, picture), [detail,
        ...(state !== 'ok' && from ? [' · ', since(from, 'since ')] : [])], advice];
  }));
}

/** @param {string} [text] */
export function loading(text = 'Loading…') {
  return h('div', { class: 'loading', role: 'status' }, h('span', { class: 'spinner' }), text);
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {unknown} error @param {() => void} [again] */
export function errorState(error, again) {
  return h('div', { class: 'fault', role: 'alert' }, icon('warn'),
    h('p', null, messageOf(error)),
    again ? button('Try again', again) : null);
}

// The same thing as a line for the shell.
/** @param {string | null | undefined} command */
export function cliLine(command) {
  if (!command) return null;
  return h('div', { class: 'cli' }, h('span', { class: 'cli-label' }, 'In the shell'),
    h('code', { tabindex: '0' }, command),
    copyButton(command, 'Copy the line for the shell'));
}

/** @param {string} text @param {string} label */
export function copyButton(text, label) {
  return h('button', {
    type: 'button', class: 'quiet', title: label, 'aria-label': label,
    onclick: () => navigator.clipboard.writeText(text).then(() => say('Copied.'),
      () => say('The browser does not let this page copy.', 'bad')),
  }, icon('copy'));
}

// Says something once, seen and heard.
/** @param {string} text @param {'ok' | 'bad'} [tone] */
export function say(text, tone = 'ok') {
  const place = document.getElementById('say');
  if (!place) return;
  const line = h('p', { class: `toast tone-${tone}` }, icon(tone), text);
  place.append(line);
  setTimeout(() => line.remove(), 5_000);
}

/** @param {string} label @param {HTMLElement} control @param {string} [hint] */
export function field(label, control, hint) {
  return h('label', { class: 'field' }, h('span', { class: 'field-label' }, label), control,
    hint ? h('span', { class: 'hint' }, hint) : null);
}

/** @param {string} label @param {[string, string][]} options value and text @param {string} value @param {(value: string) => void} changed */
export function choice(label, options, value, changed) {
  /** @type {HTMLSelectElement} */
  const element = h('select', { 'aria-label': label, onchange: () => changed(element.value) },
    options.map(([key, text]) => h('option', { value: key, selected: key === value }, text)));
  return element;
}

// A small table with real roles.
/** @param {string} label @param {string[]} heads @param {(Child | Child[])[][]} rows */
export function table(label, heads, rows) {
  return h('div', { class: 'scroll-x', tabindex: '0', role: 'region', 'aria-label': label },
    h('table', { 'aria-label': label },
      h('thead', null, h('tr', null, heads.map((head) => h('th', { scope: 'col' }, head)))),
      h('tbody', null, rows.map((cells) => h('tr', null,
        cells.map((cell, index) => h('td', { 'data-head': heads[index] }, cell)))))));
}

// Names of agents, each of which leads to its page.
/** @param {string[]} names @param {number} [most] @param {number} [total] of which these are some */
export function agentLinks(names, most = 10, total = names.length) {
  const shown = names.slice(0, most);
  return [...shown.flatMap((name, index) => [index ? ', ' : '', link(viewHash('agent', name), name)]),
    total > shown.length ? ` and ${plural(total - shown.length, 'other')}` : ''];
}

/** @param {string} path @param {...(Child | Child[])} children */
export const link = (path, ...children) => h('a', { href: path }, ...children);
