// The one stream of this tab: status of the console, changes, lines of the log.
import { ApiError, credentials, signIn } from './api.js';
import { EventParser, backOff, freshness } from './sse.js';

/** @typedef {import('./types.js').Status} Status */

/** The server says something each 5 s; after this much silence the connection is dead. */
const SILENCE = 16_000;

/** How long a tab that is not seen keeps its stream. A browser has only six connections for all tabs of a server. */
const UNSEEN = 20_000;

class Live extends EventTarget {
  constructor() {
    super();
    document.addEventListener('visibilitychange', () => this.seen(!document.hidden));
    addEventListener('pagehide', () => this.park());
    addEventListener('pageshow', (event) => { if (event.persisted) this.open(); });
    /** @type {Status | null} */
    this.status = null;
    /** @type {'opening' | 'open' | 'gone'} */
    this.link = 'opening';
    /** When the next try comes, by `performance.now()`. */
    this.nextTry = 0;
    this.why = '';
    this.statusAt = 0;
    this.tries = 0;
    /** @type {{ log: string | null, agent: string }} */
    this.wanted = { log: null, agent: '' };
    /** @type {AbortController | null} */
    this.request = null;
    /** @type {number | undefined} */
    this.timer = undefined;
    /** @type {string | null} */
    this.lastID = null;
  }

  /** The time of the console's clock, which is the one of all times that are shown. */
  now() {
    return this.status ? this.status.now + (performance.now() - this.statusAt) : Date.now();
  }

  /** Whether something may be changed from here. */
  get canCommand() {
    return this.status?.commands === true;
  }

  get freshness() {
    return freshness({ link: this.link, status: this.status, now: this.now() });
  }

  // Says what the page shows; null for no log.
  /** @param {{ log?: string | null, agent?: string }} wanted */
  watch({ log = null, agent = '' }) {
    const isSame = this.wanted.log === log && this.wanted.agent === agent;
    if (this.request && isSame) return;
    this.wanted = { log, agent };
    if (!isSame) this.lastID = null;
    this.open();
  }

  /** Opens the stream now, at whatever time the next try would be. */
  open() {
    clearTimeout(this.timer);
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    void this.read(request).catch((error) => error).then((error) => {
      request.abort();
      if (this.request !== request) return;
      this.link = 'gone';
      this.why = error instanceof ApiError ? error.message : '';
      const wait = backOff(this.tries);
      this.tries += 1;
      this.nextTry = performance.now() + wait;
      this.timer = setTimeout(() => this.open(), wait);
      this.tell('link', null);
    });
  }

  /** @param {boolean} isSeen */
  seen(isSeen) {
    clearTimeout(this.parking);
    if (isSeen && !this.request) this.open();
    /** @type {number | undefined} */
    this.parking = isSeen ? undefined : setTimeout(() => this.park(), UNSEEN);
  }

  // Closes the stream without calling that a fault.
  park() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.request = null;
  }

  /** @param {AbortController} request */
  async read(request) {
    const query = new URLSearchParams();
    if (this.wanted.log !== null) {
      query.set('log', this.wanted.log);
      query.set('follow', '1');
    }
    if (this.wanted.agent) query.set('agent', this.wanted.agent);
    let alarm = setTimeout(() => request.abort(), SILENCE);
    const answer = await fetch(`/api/events?${query}`, {
      signal: request.signal, cache: 'no-store', credentials: 'omit',
      headers: { ...credentials(), Accept: 'text/event-stream', ...(this.lastID ? { 'Last-Event-ID': this.lastID } : {}) },
    });
    if (answer.status === 401) await signIn();
    if (!answer.ok || !answer.body) throw new ApiError(answer.status, '', `it answered ${answer.status}`);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let isFirst = true;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(() => request.abort(), SILENCE);
      for (const { event, data } of parser.push(value)) {
        this.take(event, JSON.parse(data));
        // Who asks for what was before asks now, so that nothing falls between.
        if (isFirst) this.tell('opened', null);
        isFirst = false;
      }
      this.lastID = parser.lastID ?? this.lastID;
    }
  }

  /** @param {string} event @param {any} data */
  take(event, data) {
    if (event === 'status') {
      this.status = data;
      this.statusAt = performance.now();
    }
    if (this.link !== 'open') {
      this.link = 'open';
      this.tries = 0;
      this.tell('link', null);
    }
    this.tell(event, data);
  }

  /** @param {string} type @param {unknown} detail */
  tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const live = new Live();
