// Can this page be believed: how is the console itself?
import { get } from './api.js';
import { badge, checkTable, fill, h, since, tileList } from './dom.js';
import { live } from './live.js';
import { Page } from './page.js';
import { bytes, count, duration, trimmed } from './time.js';

export class ConsolePage extends Page {
  constructor() {
    super();
    this.place = h('div', { class: 'stack' });
    this.append(this.heading('Console'), this.notice, this.place);
    const timer = setInterval(() => { if (!document.hidden) this.ask(); }, 5_000);
    this.end.signal.addEventListener('abort', () => clearInterval(timer));
    this.onLive('opened', () => this.ask());
    this.ask();
  }

  ask() {
    void this.load('health', (signal) => get('/api/health', {}, signal), (health) => this.draw(health), this.place);
  }

  /** @param {import('./types.js').Health} health */
  draw(health) {
    this.dated(health.asOf);
    const { status } = live;
    const lost = health.lost + health.lines.dropped;
    const isWell = health.connected && !lost && health.checks.every(({ state }) => state === 'ok');
    const known = (/** @type {number | null} */ time) => (time === null ? 'not known' : duration(time));
    /** @type {import('./dom.js').Child[][]} */
    const tiles = [
      ['Broker', health.connected ? badge('ok', 'connected') : badge('bad', 'not connected', 'lost'),
        since(health.since, 'since ')],
      ['Lag to a tab', known(health.lag.p50), `99 of 100 within ${known(health.lag.p99)}`],
      ['Lines', `${trimmed(health.lines.perSecond)}/s`, `${count(health.lines.kept)} kept`],
      ['Not shown', lost ? badge('warn', count(lost)) : badge('ok', 'none'),
        `${count(health.lines.dropped)} dropped for slow tabs, ${count(health.lost)} lost before`],
      ['Tabs', `${health.tabs} of ${health.maximumTabs}`,
        status ? `${count(status.dropped)} lines dropped for this one` : null],
      ['Agents', count(health.agents), null], ['Memory', bytes(health.memory), null],
      ['Processor', `${trimmed(health.cpu * 100)} %`, 'of one core'],
      ['Up', duration(health.uptime), status ? `version ${status.version}` : null],
    ];
    fill(this.place,
      isWell ? h('p', { class: 'calm is-well' }, badge('ok',
        'Nothing was lost: what the pages show is what the broker sent.'))
        : h('p', { class: 'calm' },
          badge('warn', 'Some of what the broker sent is not shown; the reason stands below.')),
      tileList(tiles), checkTable(health.checks));
  }
}

customElements.define('page-console', ConsolePage);
