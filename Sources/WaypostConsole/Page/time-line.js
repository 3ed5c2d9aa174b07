// What happened to an agent, newest first.
import { agentPath, get } from './api.js';
import { partsColumn, textColumn } from './columns.js';
import { emptyState, fill, h, since } from './dom.js';
import { timeline } from './group.js';
import { icon } from './icons.js';
import { go } from './page.js';
import { clock, count, exact } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').Event} Event */
/** @typedef {import('./group.js').TimelineItem} TimelineItem */
/** @typedef {import('./page.js').Page} Page */

const WINDOW = 100;
/** @type {Record<string, string>} */
const ICONS = { state: 'agent', health: 'console', map: 'maps', failure: 'failures', command: 'commands', log: 'log' };

export class TimeLine extends HTMLElement {
  /** @param {Page} page which loads, and says what could not be loaded @param {string} agent */
  constructor(page, agent) {
    super();
    this.page = page;
    this.agent = agent;
    /** @type {Event[]} */
    this.events = [];
    /** @type {TimelineItem[]} */
    this.items = [];
    this.hasOlder = true;
    this.isLoadingOlder = false;
    this.state = h('div', { class: 'list-state' });
    this.watching = h('p', { class: 'hint' });
    /** @type {VirtualList} */
    this.list = new VirtualList({
      label: 'What happened', source: this,
      key: (item) => ('day' in item ? item.day : `${item.event.t} ${item.event.kind} ${item.event.title}`),
      whole: (item) => ('day' in item ? h('span', { class: 'day' }, item.day) : null),
      kind: (item) => ('day' in item ? 'is-day' : ''),
      open: (item) => { if ('event' in item) go(this.placeOf(item.event)); },
      columns: [
        { name: 'time', label: 'Time',
          draw: (cell, { event }) => { cell.textContent = clock(event.t); cell.title = exact(event.t); } },
        partsColumn('kind', 'What', ({ event }) =>
            [h('span', { class: `badge tone-${event.tone}` }, icon(ICONS[event.kind] ?? 'plain'), event.kind)]),
        partsColumn('title', 'Event', ({ event }) =>
            [h('b', { title: event.title }, event.title),
              event.count > 1 && h('span', { class: 'times' }, `×${count(event.count)}`)]),
        textColumn('detail', 'Detail', ({ event }) => event.detail),
      ],
    });
    this.append(h('div', { class: 'list-place' }, this.list, this.state), this.watching);
  }

  /** The rows, for the list. */
  get count() {
    return this.items.length;
  }

  /** @param {number} index */
  get(index) {
    return this.items[index];
  }

  /** @param {number} _ @param {number} last */
  need(_, last) {
    if (this.items.length && last >= this.items.length && this.hasOlder && !this.isLoadingOlder) this.older();
  }

  /** Asks for the newest. */
  refresh() {
    const ask = (/** @type {AbortSignal} */ signal) =>
      get(agentPath(this.agent, '/timeline'), { limit: WINDOW }, signal);
    void this.page.load(`timeline ${this.agent}`, ask, (answer) => {
      const events = /** @type {Event[]} */ (answer.events);
      if (!this.events.length) this.hasOlder = events.length >= WINDOW;
      // What was loaded of older times stays below what is new.
      const edge = Math.min(...events.map(({ t }) => t));
      this.show([...events, ...this.events.filter(({ t }) => t < edge)]);
      fill(this.watching, 'Watched ', since(answer.since, 'since '),
        ', when the console began; of what was before, only what the agent keeps is here.');
    }, this.state);
  }

  older() {
    const before = Math.min(...this.events.map(({ t }) => t));
    this.isLoadingOlder = true;
    const ask = (/** @type {AbortSignal} */ signal) =>
      get(agentPath(this.agent, '/timeline'), { limit: WINDOW, before }, signal);
    void this.page.load(`older ${this.agent} ${before}`, ask, ({ events }) => {
      this.hasOlder = events.length >= WINDOW;
      this.show([...this.events, ...events]);
    }).finally(() => { this.isLoadingOlder = false; });
  }

  /** @param {Event[]} events */
  show(events) {
    this.events = events;
    this.items = timeline(events);
    this.list.refresh();
    fill(this.state, events.length ? null : emptyState('wait',
      'Nothing has happened since the console began to watch'));
  }

  // Where more of an event is.
  /** @param {Event} event */
  placeOf({ ref, t, url, kind }) {
    const { agent } = this;
    if (kind === 'command' && ref) return viewHash('commands', ref, { agent });
    if (kind === 'map' || kind === 'health') return viewHash('agent', agent, { tab: kind === 'map' ? 'maps' : kind });
    return url && kind !== 'failure' ? viewHash('where', '', { url, agent })
      : viewHash('agent', agent, { tab: 'log', at: t });
  }
}

customElements.define('time-line', TimeLine);
