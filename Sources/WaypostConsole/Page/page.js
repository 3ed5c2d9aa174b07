// What all pages share.
import { asOf, errorState, fill, h, loading, messageOf, noticeLine } from './dom.js';
import { live } from './live.js';
import { viewHash } from './view.js';

/** @typedef {import('./view.js').View} View */

// Goes to another view.
/** @param {string} hash @param {boolean} [isReplacing] whether "back" is not to come here */
export function go(hash, isReplacing = false) {
  if (!isReplacing) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

/** @param {(...values: any[]) => void} call @param {number} milliseconds */
export function later(call, milliseconds) {
  /** @type {number | undefined} */
  let timer;
  return (/** @type {any[]} */ ...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

export class Page extends HTMLElement {
  constructor() {
    super();
    /** @type {View} */
    this.view = { page: '', name: '', options: {} };
    /** Ends with the page: its listeners and requests. */
    this.end = new AbortController();
    /** @type {Map<string, { key: string, end: AbortController, isAskedAgain: boolean }>} those on their way */
    this.requests = new Map();
    /** @type {string | null} */
    this.question = null;
    this.when = h('span');
    this.notice = h('div', { class: 'notice' });
    /** @type {import('./virtual-list.js').VirtualList | null} what `j`, `k` and Enter mean */
    this.list = null;
  }

  disconnectedCallback() {
    this.end.abort();
    for (const request of this.requests.values()) request.end.abort();
  }

  // The address has changed, or the page is new.
  /** @param {View} view */
  show(view) {
    this.view = view;
    live.watch(this.streams());
  }

  // What the page wants from the stream beside the status.
  /** @returns {{ log?: string | null, agent?: string }} */
  streams() {
    return {};
  }

  /** What space does; false for nothing. */
  pause() {
    return false;
  }

  /** What Esc does beside closing dialogs; false for nothing. */
  close() {
    return false;
  }

  // Whether this was asked last; then an equal address asks nothing.
  /** @param {string} question */
  isAsked(question) {
    const isSame = question === this.question;
    this.question = question;
    return isSame;
  }

  /** @param {string} title @param {...import('./dom.js').Child} tools */
  heading(title, ...tools) {
    return h('header', { class: 'page-head' }, h('h1', { tabindex: '-1' }, title), this.when,
      h('div', { class: 'tools' }, tools));
  }

  /** @param {string} type @param {(detail: any) => void} call */
  onLive(type, call) {
    live.addEventListener(type, (event) => call(/** @type {CustomEvent} */ (event).detail),
      { signal: this.end.signal });
  }

  // The same page with other options.
  /** @param {Record<string, string | null>} options */
  change(options) {
    go(viewHash(this.view.page, this.view.name, { ...this.view.options, ...options }), true);
  }

  /** @param {number | null} time */
  dated(time) {
    fill(this.when, asOf(time));
  }

  // What is on its way for this is no longer wanted.
  /** @param {string} purpose */
  drop(purpose) {
    this.requests.get(purpose)?.end.abort();
    this.requests.delete(purpose);
  }

  /**
   * Asks for something and draws it. What was drawn before stays until the answer has come, and when there is none.
   *
   * The first word of the key is what it is for: a new question for the same makes the old one void. The same question
   * again waits for the answer that is on its way, so that a slow server is not asked faster than it answers.
   * @template T
   * @param {string} key
   * @param {(signal: AbortSignal) => Promise<T>} ask
   * @param {(value: T) => void} draw
   * @param {HTMLElement} [place] where it is drawn
   */
  async load(key, ask, draw, place) {
    const [purpose] = key.split(' ', 1);
    const old = this.requests.get(purpose);
    if (old?.key === key) {
      old.isAskedAgain = true;
      return;
    }
    old?.end.abort();
    const request = { key, end: new AbortController(), isAskedAgain: false };
    const { signal } = request.end;
    this.requests.set(purpose, request);
    if (place && !place.dataset.drawn) fill(place, loading());
    try {
      const value = await ask(signal);
      if (signal.aborted) return;
      if (place) place.dataset.drawn = 'yes';
      draw(value);
      if (this.notice.dataset.of === purpose) fill(this.notice);
    } catch (error) {
      if (signal.aborted) return;
      if (place && !place.dataset.drawn) fill(place, errorState(error, () => void this.load(key, ask, draw, place)));
      else {
        this.notice.dataset.of = purpose;
        fill(this.notice, noticeLine('warn', `This could not be refreshed: ${messageOf(error)}`));
      }
    } finally {
      if (this.requests.get(purpose) === request) this.requests.delete(purpose);
      if (request.isAskedAgain && !signal.aborted) void this.load(key, ask, draw, place);
    }
  }
}
