// The one line in which a log is asked for; it says at once what is wrong with it.
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { check } from './query.js';

export class QueryLine extends HTMLElement {
  constructor() {
    super();
    this.input = h('input', {
      type: 'search', 'aria-label': 'Query', 'aria-describedby': 'query-fault', 'data-search': true, maxlength: 1_024,
      placeholder: 'tag:Router level:W -message:demo age:10m', spellcheck: 'false', autocapitalize: 'off',
      autocomplete: 'off',
      oninput: () => this.changed(),
      onscroll: () => { this.picture.scrollLeft = this.input.scrollLeft; },
    });
    this.picture = h('div', { class: 'query-picture', 'aria-hidden': 'true' });
    this.fault = h('p', { class: 'query-fault', id: 'query-fault', role: 'status' });
    this.append(h('div', { class: 'query-box' }, icon('search'),
      h('div', { class: 'query-text' }, this.picture, this.input)), this.fault);
    this.draw();
  }

  get value() {
    return this.input.value;
  }

  set value(text) {
    if (this.input.value === text) return;
    this.input.value = text;
    this.draw();
  }

  changed() {
    const query = this.draw();
    this.dispatchEvent(query ? new CustomEvent('query', { detail: query }) : new CustomEvent('wrong'));
  }

  // The server may know of a fault that the page does not see.
  /** @param {string} text */
  showFault(text) {
    fill(this.fault, text ? icon('warn') : null, text);
    this.input.toggleAttribute('aria-invalid', text !== '');
  }

  draw() {
    const text = this.value;
    const { query, error } = check(text);
    this.showFault(error?.message ?? '');
    /** @type {Node[]} */
    const parts = [];
    let at = 0;
    const put = (/** @type {number} */ end, /** @type {string} */ kind) => {
      if (end > at) parts.push(h('span', { class: kind }, text.slice(at, end)));
      at = Math.max(at, end);
    };
    for (const term of query?.terms ?? []) {
      put(term.start, '');
      put(term.value, term.negated ? 'query-not' : 'query-key');
      put(term.end, 'query-value');
    }
    if (error) {
      put(error.start, '');
      put(error.end, 'query-wrong');
    }
    put(text.length, '');
    fill(this.picture, ...parts);
    return query;
  }
}

customElements.define('query-line', QueryLine);
