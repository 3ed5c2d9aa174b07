// A list of any length of which only what is in sight is in the document: all lists of the console are this one.
import { h, put } from './dom.js';
import { rowsInSight, scrolledTo } from './window.js';

/** @typedef {{ count: number, get: (index: number) => any, need?: (first: number, last: number) => void }} Source */
/**
 * @typedef {object} Column
 * @property {string} name for the style
 * @property {string} label of its head
 * @property {string} [sort] what it is sorted by
 * @property {(cell: HTMLElement, item: any) => void} draw fills a cell that may hold something old
 */
/**
 * @typedef {object} Setup
 * @property {string} label
 * @property {Column[]} columns
 * @property {Source} source
 * @property {(item: any) => string} key the same for the same thing after it was fetched again
 * @property {(item: any) => void} [open]
 * @property {(item: any) => Node | null} [whole] for rows that have no columns
 * @property {(item: any) => string} [kind] a class of the row
 * @property {(sort: string) => void} [sorted]
 */

let lists = 0;

export class VirtualList extends HTMLElement {
  /** @param {Setup} setup */
  constructor(setup) {
    super();
    this.config = setup;
    this.uid = `list${lists += 1}`;
    /** @type {Map<unknown, HTMLElement>} rows in the document, by what they show */
    this.rows = new Map();
    this.first = 0;
    this.selected = -1;
    /** @type {any} what is selected, wherever it stands by now; undefined until it is there */
    this.chosen = undefined;
    this.isAsked = false;
    // Measured when they change, for at each frame it would cost a layout.
    this.rowHeight = 24;
    this.viewHeight = 0;
    this.headHeight = 0;
    this.setAttribute('role', 'grid');
    this.setAttribute('aria-label', setup.label);
    this.setAttribute('aria-colcount', String(setup.columns.length));
    this.tabIndex = 0;
    this.head = h('div', { class: 'list-head', role: 'rowgroup' });
    this.body = h('div', { class: 'list-body', role: 'rowgroup' });
    this.sizer = h('div', { class: 'list-sizer', role: 'presentation' }, this.body);
    this.replaceChildren(this.head, this.sizer);
    this.drawHead('', false);
    this.addEventListener('scroll', () => this.refresh(), { passive: true });
    this.addEventListener('click', (event) => this.clicked(event));
    this.addEventListener('keydown', (event) => this.pressed(event));
  }

  connectedCallback() {
    this.sizes = new ResizeObserver(() => {
      this.rowHeight = parseFloat(getComputedStyle(this).getPropertyValue('--row')) || 24;
      this.viewHeight = this.clientHeight;
      this.headHeight = this.head.offsetHeight;
      this.refresh();
    });
    this.sizes.observe(this);
  }

  disconnectedCallback() {
    this.sizes?.disconnect();
  }

  /** @param {string} sort @param {boolean} isDescending */
  drawHead(sort, isDescending) {
    const { columns, sorted } = this.config;
    this.head.replaceChildren(h('div', { class: 'row', role: 'row', 'aria-rowindex': 1 },
      columns.map((column, index) => {
        const by = column.sort;
        const isSorted = by !== undefined && by === sort;
        return h('div', {
          class: `cell ${column.name}`, role: 'columnheader', 'aria-colindex': index + 1,
          'aria-sort': isSorted ? (isDescending ? 'descending' : 'ascending') : null,
        }, by !== undefined && sorted
            ? h('button', { type: 'button', class: 'sort', onclick: () => sorted(by) }, column.label,
              isSorted ? h('span', { 'aria-hidden': 'true' }, isDescending ? ' ↓' : ' ↑') : null)
            : column.label);
    })));
  }

  /** Draws at the next frame what has changed. */
  refresh() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      this.isAsked = false;
      if (this.isConnected) this.paint();
    });
  }

  get isAtEnd() {
    return this.scrollHeight - this.scrollTop - this.clientHeight < this.rowHeight;
  }

  toEnd() {
    const height = this.headHeight + this.config.source.count * this.rowHeight;
    this.paint(Math.max(0, height - this.viewHeight));
    this.scrollTo(0, height);
  }

  // Rows came or went in front of what is seen, which is to stay where it is.
  /** @param {number} rows */
  shift(rows) {
    const top = this.scrollTop + rows * this.rowHeight;
    if (this.selected >= 0) this.selected += rows;
    this.paint(top);
    this.scrollTo(0, top);
  }

  /** @param {number} index */
  toRow(index) {
    this.scrollTo(0, scrolledTo(index, {
      scrollTop: this.scrollTop, height: this.viewHeight - this.headHeight, rowHeight: this.rowHeight }));
  }

  // Draws the rows in sight; to ask for the place of the scroll after a change would cost a layout.
  /** @param {number} [scrollTop] */
  paint(scrollTop = this.scrollTop) {
    const { source, key, columns } = this.config;
    const { first, last } = rowsInSight({
      scrollTop, height: this.viewHeight, rowHeight: this.rowHeight, count: source.count });
    source.need?.(first, Math.max(last, 1));
    this.sizer.style.height = `${source.count * this.rowHeight}px`;
    this.body.style.transform = `translateY(${first * this.rowHeight}px)`;
    this.setAttribute('aria-rowcount', String(source.count + 1));
    this.first = first;
    const old = this.rows;
    /** @type {Map<unknown, HTMLElement>} */
    const next = new Map();
    /** @type {[number, any][]} */
    const shown = [];
    for (let index = first; index < last; index += 1) {
      const item = source.get(index);
      const identity = item ?? `missing ${index}`;
      shown.push([index, item]);
      const row = old.get(identity);
      if (row) {
        next.set(identity, row);
        old.delete(identity);
      }
    }
    const spare = [...old.values()];
    /** @type {ChildNode | null} */
    let place = this.body.firstChild;
    for (const [index, item] of shown) {
      const identity = item ?? `missing ${index}`;
      let row = next.get(identity);
      if (!row) {
        row = spare.pop() ?? this.newRow(columns);
        this.fillRow(row, item);
        next.set(identity, row);
        if (row === place) place = row.nextSibling;
      }
      if (row.dataset.index !== String(index)) {
        row.id = `${this.uid}-${index}`;
        row.dataset.index = String(index);
        row.setAttribute('aria-rowindex', String(index + 2));
      }
      const isSelected = item !== undefined && this.chosen !== undefined && key(item) === key(this.chosen);
      if (isSelected) this.selected = index;
      if (isSelected !== row.hasAttribute('aria-selected')) row.toggleAttribute('aria-selected', isSelected);
      if (isSelected) row.setAttribute('aria-selected', 'true');
      if (row === place) place = row.nextSibling;
      else this.body.insertBefore(row, place);
    }
    for (const row of spare) row.remove();
    this.rows = next;
    if (this.selected >= first && this.selected < last) {
      this.setAttribute('aria-activedescendant', `${this.uid}-${this.selected}`);
    } else this.removeAttribute('aria-activedescendant');
  }

  /** @param {Column[]} columns */
  newRow(columns) {
    return h('div', { class: 'row', role: 'row' },
      columns.map(({ name }, index) => h('div', { class: `cell ${name}`, role: 'gridcell',
        'aria-colindex': index + 1 })),
      h('div', { class: 'cell whole', role: 'gridcell', hidden: true }));
  }

  /** @param {HTMLElement} row @param {any} item */
  fillRow(row, item) {
    const { columns, whole, kind } = this.config;
    const cells = /** @type {HTMLElement[]} */ ([...row.children]);
    const single = item === undefined ? h('span', { class: 'missing', 'aria-label': 'loading' })
      : whole?.(item) ?? null;
    row.className = `row ${item === undefined ? '' : kind?.(item) ?? ''}`;
    columns.forEach((column, index) => {
      cells[index].hidden = single !== null;
      if (single) cells[index].replaceChildren();
      else column.draw(cells[index], item);
    });
    const last = cells[columns.length];
    last.hidden = single === null;
    last.replaceChildren();
    put(last, single);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    if (!(event.target instanceof Element) || event.target.closest('a, button')) return;
    const row = event.target.closest('.list-body > .row');
    if (row instanceof HTMLElement && !getSelection()?.toString()) {
      this.select(Number(row.dataset.index));
      this.openSelected();
    }
  }

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.target !== this) return;
    const page = Math.max(1, Math.floor(this.clientHeight / this.rowHeight) - 2);
    const steps = /** @type {Record<string, number>} */ (
      { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity });
    const step = steps[event.key];
    if (step === undefined || event.metaKey || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    this.move(step);
  }

  /** @param {number} step rows down */
  move(step) {
    const count = this.config.source.count;
    if (!count) return;
    const start = this.selected < 0 ? this.first + (step > 0 ? -1 : 0) : this.selected;
    this.select(Math.max(0, Math.min(count - 1, start + step)));
  }

  /** @param {number} index */
  select(index) {
    this.selected = index;
    this.chosen = this.config.source.get(index);
    this.toRow(index);
    this.paint();
    this.dispatchEvent(new CustomEvent('moved'));
  }

  openSelected() {
    const item = this.chosen ?? (this.selected >= 0 ? this.config.source.get(this.selected) : undefined);
    if (item !== undefined) this.config.open?.(item);
    return item !== undefined;
  }
}

customElements.define('virtual-list', VirtualList);
