// Whether what is shown can be believed, above each page.
import { badge, button, fill, h, since } from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { count, duration, left, plural } from './time.js';

/** @type {Record<string, [tone: string, picture: string, word: string]>} */
const WORDS = {
  opening: ['plain', 'wait', 'connecting'], fresh: ['ok', 'ok', 'live'], stale: ['warn', 'wait', 'stale'],
  offline: ['bad', 'lost', 'no broker'], gone: ['bad', 'lost', 'no console'],
};

export class StatusBar extends HTMLElement {
  constructor() {
    super();
    this.chip = h('span', { role: 'status', 'aria-live': 'polite' });
    this.facts = h('span', { class: 'status-facts' });
    this.banner = h('div', { class: 'banner', role: 'status', hidden: true });
    this.shown = '';
  }

  connectedCallback() {
    this.append(h('div', { class: 'status-line' }, this.chip, this.facts), this.banner);
    for (const type of ['status', 'link']) live.addEventListener(type, () => this.draw());
    setInterval(() => this.draw(), 1_000);
    this.draw();
  }

  draw() {
    const { status, freshness } = live;
    if (freshness !== this.shown) {
      this.shown = freshness;
      document.body.dataset.freshness = freshness;
      fill(this.chip, badge(...pick(freshness)));
    }
    if (status) {
      const lost = status.lost + status.dropped;
      const text = [plural(status.agents, 'agent'), status.problems ? plural(status.problems, 'problem') : 'no problem',
        `${count(status.rate)} lines/s`, lost ? `${plural(lost, 'line')} not shown` : '',
        status.commands ? '' : 'reading only'];
      fill(this.facts, h('span', { class: 'broker', title: `${status.root}, as ${status.sender}` }, status.broker),
        ...text.filter(Boolean).map((part) => h('span', null, part)));
    }
    this.drawBanner(freshness);
  }

  /** @param {string} freshness */
  drawBanner(freshness) {
    const { status } = live;
    const { banner } = this;
    const age = status ? duration(Math.max(0, live.now() - status.asOf)) : '';
    const reason = status?.reason ? `: ${status.reason}` : '';
    const why = live.why ? ` (${live.why})` : '';
    /** @type {Record<string, string>} */
    const texts = {
      stale: `Nothing new from the console for ${age}: what is shown may have changed.`,
      offline: `The console has no connection to ${status?.broker ?? 'its broker'}${reason}. What is shown is what it last heard.`,
      gone: `The console does not answer${why}. ${status ? 'What is shown is what it last said.' : ''}`,
    };
    const text = texts[freshness];
    banner.hidden = text === undefined;
    if (text === undefined) return;
    const wait = live.nextTry - performance.now();
    const next = freshness !== 'gone' ? '' : wait > 0 ? `Next try in ${left(wait)}.` : 'Trying now…';
    // A banner whose seconds count must not be read out each second.
    if (banner.dataset.freshness !== freshness) {
      banner.dataset.freshness = freshness;
      fill(banner, icon('warn'), h('span', { class: 'banner-text' }),
        h('span', { class: 'banner-next', 'aria-live': 'off' }),
        freshness === 'offline' && status ? since(status.since, 'since ') : null,
        freshness === 'gone' ? button('Try now', () => live.open()) : null);
    }
    put(banner, '.banner-text', text);
    put(banner, '.banner-next', next);
  }
}

/** @param {Element} parent @param {string} selector @param {string} text */
function put(parent, selector, text) {
  const element = parent.querySelector(selector);
  if (element && element.textContent !== text) element.textContent = text;
}

/** @param {string} freshness @returns {[string, string, string]} */
function pick(freshness) {
  const [tone, picture, word] = WORDS[freshness] ?? WORDS.opening;
  return [tone, word, picture];
}

customElements.define('status-bar', StatusBar);
