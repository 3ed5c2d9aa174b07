// A log that goes on: the newest lines follow, older ones come when one scrolls back.
import { ApiError, agentPath, get } from './api.js';
import { textColumn } from './columns.js';
import {
  badge, button, choice, copyButton, emptyState, errorState, factList, fill, h, link, loading, since,
} from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { LEVELS, LEVEL_NAMES, Query, check, levelNamed, quoted, replaceTerm } from './query.js';
import { QueryLine } from './query-line.js';
import { clock, count, day, exact, plural } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').Line} Line */
/** @typedef {{ note: string, id: number, asks?: boolean }} Note a row that is no line; it may offer to ask the agent */
/** @typedef {Line | Note} Item */

/** The most lines that the browser holds. */
const MOST_LINES = 5_000;
const WINDOW = 200;

/** @param {Item} item @returns {item is Note} */
const isNote = (item) => 'note' in item;

export class LogView extends HTMLElement {
  constructor() {
    super();
    /** @type {Item[]} oldest first */
    this.items = [];
    /** @type {Item[]} came while the log stood still */
    this.pending = [];
    /** @type {Item[]} came since the last frame */
    this.incoming = [];
    this.query = new Query('');
    this.text = '';
    this.agent = '';
    /** @type {number | null} the moment that is looked at; null for now */
    this.at = null;
    this.isPaused = false;
    /** Whether the lines go on to the newest. */
    this.isWhole = true;
    /** Whether nothing older is kept. */
    this.isFirst = false;
    this.isReady = false;
    this.isDrawn = false;
    /** @type {number} */
    this.lastN = -1;
    this.notes = 0;
    /** @type {AbortController | null} */
    this.request = null;
    this.isFetching = false;
    this.end = new AbortController();
    /** @type {(options: Record<string, string | null>) => void} says that another view is wanted */
    this.changed = () => undefined;
    this.line = new QueryLine();
    this.line.addEventListener('query', (event) => this.typed(/** @type {CustomEvent} */ (event).detail));
    this.line.addEventListener('wrong', () => clearTimeout(this.typing));
    this.pauseButton = button('Pause', () => this.pause());
    this.level = h('span');
    this.facts = h('span', { class: 'log-facts' });
    this.more = h('button', { type: 'button', class: 'jump primary', hidden: true, onclick: () => this.resume() });
    this.list = new VirtualList({
      label: 'Log', source: this, key: (item) => (isNote(item) ? `note ${item.id}` : String(item.n)),
      kind: (item) => (isNote(item) ? 'note' : `level-${item.level}${item.failure ? ' is-failure' : ''}`),
      whole: (item) => (isNote(item) ? h('span', { class: 'note-text' }, icon('warn'), item.note,
        item.asks ? this.replayButton() : null) : null),
      open: (item) => this.open(item),
      columns: [
        { name: 'time', label: 'Time', draw: (cell, line) => { cell.textContent = clock(line.t,
          true); cell.title = exact(line.t); } },
        { name: 'level', label: 'Level', draw: (cell,
          line) => { cell.textContent = line.level; cell.title = LEVEL_NAMES[line.level] ?? ''; } },
        textColumn('agent', 'Agent', (line) => line.agent),
        textColumn('tag', 'Tag', (line) => line.tag),
        textColumn('message', 'Message', (line) => line.message),
      ],
    });
    this.list.addEventListener('scroll', () => this.scrolled(), { passive: true });
    this.list.addEventListener('moved', () => { if (this.isFollowing) this.pause(); });
    this.state = h('div', { class: 'list-state' });
    this.detail = h('aside', { class: 'side-panel', 'aria-label': 'The line', hidden: true });
    this.append(h('div', { class: 'log-tools' }, this.line,
      h('div', { class: 'log-buttons' }, this.level, this.pauseButton, this.facts)),
      h('div', { class: 'list-place' }, this.list, this.state, this.more), this.detail);
    const listen = (/** @type {string} */ type, /** @type {(detail: any) => void} */ call) =>
      live.addEventListener(type, (event) => call(/** @type {CustomEvent} */ (event).detail),
        { signal: this.end.signal });
    listen('log', (frame) => this.took(frame));
    listen('opened', () => void this.start());
    for (const type of ['status', 'link']) listen(type, () => this.drawFacts());
  }

  /** Whether the newest line is in sight and stays there. */
  get isFollowing() {
    return !this.isPaused && this.isWhole && this.at === null;
  }

  disconnectedCallback() {
    this.end.abort();
    this.request?.abort();
  }

  /** The rows, for the list. */
  get count() {
    return this.items.length;
  }

  /** @param {number} index */
  get(index) {
    return this.items[index];
  }

  // The query as it is sent.
  /** @param {string} agent @param {string} text */
  static sent(agent, text) {
    return agent ? `agent=:${quoted(agent)} ${text}`.trim() : text;
  }

  /** @param {{ agent: string, text: string, at: number | null }} view */
  show({ agent, text, at }) {
    const isOther = agent !== this.agent || text !== this.text || at !== this.at;
    if (this.line && this.line.value !== text && document.activeElement !== this.line.input) this.line.value = text;
    this.agent = agent;
    this.text = text;
    this.at = at;
    this.classList.toggle('one-agent', agent !== '');
    this.drawLevel();
    if (!this.isDrawn && !this.state.childElementCount) fill(this.state, loading('Asking for the lines…'));
    if (!isOther && this.isDrawn) return;
    const { query } = check(text);
    if (query) this.filter(query);
    this.isReady = false;
    // The stream of the new query has its first event soon; then `start` asks for what was before.
    if (at !== null) void this.start();
  }

  /** @param {Query} query */
  typed(query) {
    this.filter(query);
    clearTimeout(this.typing);
    /** @type {number | undefined} */
    this.typing = setTimeout(() => this.changed({ q: query.text.trim(), at: null }), 350);
  }

  // Shows at once what is here already.
  /** @param {Query} query */
  filter(query) {
    this.query = query;
    // How long a regular expression takes here is not known: the console evaluates it, in steps that are counted.
    if (query.hasExpression) return;
    const now = live.now();
    const keep = (/** @type {Item} */ item) => isNote(item) || query.holds(item, now);
    this.items = this.items.filter(keep);
    this.pending = this.pending.filter(keep);
    this.incoming = this.incoming.filter(keep);
    this.list.refresh();
  }

  /** @param {Record<string, string | number | null>} where */
  ask(where) {
    this.request?.abort();
    this.request = new AbortController();
    return get('/api/log', { log: LogView.sent(this.agent, this.text), limit: WINDOW, ...where }, this.request.signal);
  }

  /** Asks for the lines that were there before the stream. */
  async start() {
    const isAgain = this.isDrawn && this.isReady;
    if (check(this.text).error) {
      fill(this.state, emptyState('warn', 'The query is not valid', 'Correct it to see lines.'));
      return;
    }
    if (isAgain && (this.at !== null || !this.isWhole)) return;
    if (!this.isDrawn) fill(this.state, loading());
    try {
      const { lines, more } = await this.ask({ at: this.at });
      const newest = lines.length ? lines[lines.length - 1].n : -1;
      // The stream goes on behind the last line; only a console that began anew counts from the start again.
      const started = live.status?.started;
      if (isAgain && started === this.started && (!lines.length || newest >= this.lastN)) return;
      this.started = started;
      this.isFirst = !more;
      this.isWhole = this.at === null;
      const first = isAgain ? [this.note('The console was started anew; what it had before is gone')]
        : this.isFirst && lines.length ? [this.firstNote()] : [];
      this.items = [...first, ...lines];
      this.lastN = newest;
      live.lastID = String(newest);
      this.pending = [];
      // The stream was open before these were asked for, so that some may have come twice.
      this.incoming = this.incoming.filter((item) => isNote(item) || item.n > newest);
      this.isReady = this.isDrawn = true;
      this.isPaused = this.at !== null;
      fill(this.state);
      this.flush();
      if (this.at === null) this.list.toEnd();
      else this.toMoment(this.at);
      if (check(this.line.value).query) this.line.showFault('');
      this.drawFacts();
    } catch (error) {
      if (this.request?.signal.aborted) return;
      const isFault = error instanceof ApiError && error.status === 400;
      if (isFault) this.line.showFault(error.message);
      fill(this.state, isFault ? null : errorState(error, () => void this.start()));
    }
  }

  /** @param {number} at */
  toMoment(at) {
    const index = this.items.findIndex((item) => !isNote(item) && item.t >= at);
    if (index < 0 || !this.list) return;
    this.list.paint();
    this.list.select(index);
    this.list.scrollTop = Math.max(0, index * this.list.rowHeight - this.list.clientHeight / 2);
  }

  /** @param {string} text @returns {Note} */
  note(text) {
    return { note: text, id: this.notes += 1 };
  }

  /** @param {{ lines: Line[], dropped: number }} frame */
  took({ lines, dropped }) {
    if (dropped) {
      this.incoming.push(this.note(`${plural(dropped, 'line')} dropped: this tab did not read as fast as they came`));
    }
    this.incoming.push(...lines);
    if (!this.isReady) return;
    if (lines.length) this.lastN = lines[lines.length - 1].n;
    // A tab that is not seen has no frames; what it will show is bounded all the same.
    if (this.incoming.length > 2 * MOST_LINES) this.flush();
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      this.flush();
    });
  }

  /** Shows what came, once in a frame. */
  flush() {
    if (!this.incoming.length) {
      this.drawState();
      return;
    }
    const came = this.incoming;
    this.incoming = [];
    if (this.isFollowing) {
      this.items.push(...came);
      if (this.items.length > MOST_LINES) {
        this.items.splice(0, this.items.length - MOST_LINES);
        this.isFirst = false;
      }
      this.list.toEnd();
    } else {
      this.pending.push(...came);
      if (this.pending.length > MOST_LINES) {
        // What is between is no longer here, so that to go on is to begin anew.
        this.pending.splice(0, this.pending.length - MOST_LINES);
        this.isWhole = false;
      }
    }
    this.drawState();
    this.drawFacts();
  }

  drawState() {
    if (!this.isReady) return;
    const isEmpty = this.items.length === 0;
    if (isEmpty === (this.state.childElementCount > 0)) return;
    fill(this.state, isEmpty ? emptyState('log', this.text ? 'No line fits this query' : 'No line yet',
      this.text ? 'New ones that fit appear here as they come.' : 'Lines appear here as agents write them.',
      this.agent ? this.replayButton() : null) : null);
  }

  scrolled() {
    if (!this.isReady || !this.items.length) return;
    if (this.isFollowing && !this.list.isAtEnd && this.list.scrollTop < (this.lastTop ?? 0)) this.pause();
    this.lastTop = this.list.scrollTop;
    if (this.isFollowing || this.isFetching) return;
    if (this.list.scrollTop < 20 * this.list.rowHeight && !this.isFirst) void this.older();
    else if (!this.isWhole && this.list.isAtEnd) void this.newer();
  }

  async older() {
    const first = this.items.find((item) => !isNote(item));
    if (!first || isNote(first)) return;
    await this.fetching(async () => {
      const { lines, more } = await this.ask({ before: first.n });
      this.isFirst = !more;
      this.items.unshift(...lines);
      if (this.isFirst) this.items.unshift(this.firstNote());
      if (this.items.length > MOST_LINES) {
        this.items.length = MOST_LINES;
        this.isWhole = false;
      }
      this.list.shift(lines.length + (this.isFirst ? 1 : 0));
    });
  }

  /** What stands above the oldest line that the console has. @returns {Note} */
  firstNote() {
    return this.agent
      ? { ...this.note(`Older lines are not kept here. ${this.agent} may have them`), asks: true }
      : this.note('Older lines are not kept here. The log on the page of an agent can ask it for them');
  }

  replayButton() {
    return button('Ask for older lines', () => void this.replay(), { class: 'quiet' });
  }

  /** Puts above what is shown what the agent still has in memory. */
  async replay() {
    if (this.isFetching) return;
    await this.fetching(async () => {
      const { lines, more, failure } = await this.askAgent();
      const { agent } = this;
      const note = this.note(failure ?? (more ? `${agent} has more: waypost logcat --agent ${agent} --last 100000`
        : lines.length ? `${agent} has nothing older` : `${agent} has nothing older that fits`));
      const shown = this.items.filter((item) => !(isNote(item) && item.asks));
      const cut = this.items.length - shown.length;
      this.items = [failure ? { ...note, asks: true } : note, ...lines, ...shown];
      this.drawState();
      this.list.shift(lines.length + 1 - cut);
    });
  }

  /** @returns {Promise<{ lines: Line[], more: boolean, failure: string | null }>} */
  async askAgent() {
    try {
      const { lines, more } = await get(agentPath(this.agent, '/replay'), { log: this.text });
      return { lines, more, failure: null };
    } catch (error) {
      return { lines: [], more: false, failure: `Not asked: ${error instanceof Error ? error.message : error}` };
    }
  }

  async newer() {
    const last = this.items[this.items.length - 1];
    if (!last || isNote(last)) return;
    await this.fetching(async () => {
      const { lines } = await this.ask({ after: last.n });
      this.items.push(...lines);
      const cut = Math.max(0, this.items.length - MOST_LINES);
      this.items.splice(0, cut);
      if (cut) this.isFirst = false;
      this.list.shift(-cut);
    });
  }

  /** @param {() => Promise<void>} work */
  async fetching(work) {
    this.isFetching = true;
    try {
      await work();
    } catch {
      // The next scroll asks again; that the console is gone stands above.
    } finally {
      this.isFetching = false;
      this.drawFacts();
    }
  }

  pause() {
    if (this.isPaused || this.at !== null) this.resume();
    else {
      this.isPaused = true;
      this.drawFacts();
    }
    return true;
  }

  resume() {
    this.isPaused = false;
    if (this.at !== null) {
      this.isReady = false;
      this.changed({ at: null });
      void Promise.resolve().then(() => this.start());
      return;
    }
    if (!this.isWhole) {
      this.isReady = false;
      void this.start();
      return;
    }
    this.incoming = [...this.pending, ...this.incoming];
    this.pending = [];
    this.list.toEnd();
    this.flush();
    this.drawFacts();
  }

  drawFacts() {
    const isStill = !this.isFollowing;
    if (this.pauseButton.dataset.still !== String(isStill)) {
      this.pauseButton.dataset.still = String(isStill);
      fill(this.pauseButton, icon(isStill ? 'play' : 'pause'), isStill ? 'Follow' : 'Pause');
      this.pauseButton.title = isStill ? 'Go on with the newest lines (space)' : 'Stand still (space)';
    }
    const lines = this.items.length;
    const word = this.at !== null ? `around ${day(this.at)} ${clock(this.at)}` : isStill ? 'paused'
      : live.link === 'gone' ? 'cut off' : 'following';
    const text = `${plural(lines, 'line')}, ${word}`;
    if (this.facts.textContent !== text) this.facts.textContent = text;
    this.more.hidden = !isStill || (this.pending.length === 0 && this.isWhole);
    const over = this.pending.length >= MOST_LINES ? 'over ' : '';
    const fresh = this.pending.length ? `${over}${count(this.pending.length)} new` : 'To the newest';
    if (!this.more.hidden && this.more.dataset.text !== fresh) {
      this.more.dataset.text = fresh;
      fill(this.more, icon('down'), fresh);
    }
  }

  drawLevel() {
    const found = check(this.text).query?.terms.find(({ key, negated }) => key === 'level' && !negated);
    const chosen = (found && levelNamed(this.text.slice(found.value, found.end))) ?? '';
    fill(this.level, choice('Lowest level', [['', 'All levels'], ...[...LEVELS].map((level) =>
        /** @type {[string, string]} */ ([level, `${level} ${LEVEL_NAMES[level]}${level === 'F' ? '' : ' and higher'}`]))], chosen,
      (level) => this.narrow(replaceTerm(this.text, 'level', level ? `level:${level}` : ''))));
  }

  /** @param {string} text */
  narrow(text) {
    if (this.line) this.line.value = text;
    const { query } = check(text);
    if (query) this.filter(query);
    this.changed({ q: text, at: null });
  }

  // Shows one line whole.
  /** @param {Item} item */
  open(item) {
    if (isNote(item)) return;
    if (this.isFollowing) this.pause();
    const term = (/** @type {string} */ text) => button(text, () => this.narrow(`${this.text} ${text}`.trim()),
      { class: 'quiet term' });
    const facts = [
      ['Time', since(item.t), ' ', exact(item.t)],
      ['Level', `${item.level} ${LEVEL_NAMES[item.level] ?? ''}`, item.failure ? badge('bad', 'failure') : null],
      ['Agent', link(viewHash('agent', item.agent), item.agent),
        this.agent ? null : term(`agent=:${quoted(item.agent)}`)],
      ['Tag', item.tag, term(`tag=:${quoted(item.tag)}`), term(`-tag=:${quoted(item.tag)}`)],
      item.code === null ? null : ['Code', `${item.code} ${item.name ?? ''}`, term(`code:${item.code}`)],
      item.url === null ? null : ['URL', item.url, ' ',
        link(viewHash('where', '', { url: item.url, agent: item.agent }), 'where does it go?')],
      item.ref === null ? null : ['Command', link(viewHash('commands', item.ref, { agent: item.agent }), item.ref),
        term(`ref:${quoted(item.ref)}`)],
      item.trace === null ? null : ['Trace',
        link(viewHash('log', '', { q: `trace:${traceId(item.trace)}` }), traceId(item.trace))],
    ];
    const near = this.text || this.at !== null
      ? link(viewHash(this.agent ? 'agent' : 'log', this.agent,
        { tab: this.agent ? 'log' : '', at: item.t, q: this.agent ? '' : `agent=:${quoted(item.agent)}` }),
        'What was around it')
      : null;
    fill(this.detail, h('div', { class: 'detail-head' }, h('h2', null, 'Line'), near,
      copyButton(JSON.stringify(item), 'Copy the line as JSON'),
      button('Close', () => this.close(), { icon: 'close', class: 'quiet' })),
      h('pre', { class: 'message-text', tabindex: '0' }, item.message),
      factList(facts));
    this.detail.hidden = false;
  }

  close() {
    if (this.detail.hidden) return false;
    this.detail.hidden = true;
    return true;
  }
}

customElements.define('log-view', LogView);

// The part of a traceparent that all of one trace have.
/** @param {string} trace */
function traceId(trace) {
  return trace.split('-')[1] ?? trace;
}
