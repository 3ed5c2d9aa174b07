// The arithmetic of lists of which only a window exists.

/** The most rows that a list has in the document. */
export const MOST_ROWS = 110;
/** The most rows that are asked for at once. */
export const MOST_ASKED = 200;

/**
 * The rows to draw: those in sight and a few beyond, `last` excluded.
 * @param {{ scrollTop: number, height: number, rowHeight: number, count: number, beyond?: number }} view
 * @returns {{ first: number, last: number }}
 */
export function rowsInSight({ scrollTop, height, rowHeight, count, beyond = 8 }) {
  if (count <= 0 || rowHeight <= 0) return { first: 0, last: 0 };
  const seen = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const first = Math.max(0, Math.min(seen - beyond, count - 1));
  const last = Math.min(count, Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + beyond);
  return { first, last: Math.max(first, Math.min(last, first + MOST_ROWS)) };
}

/**
 * Where to scroll to so that a row is wholly in sight; the same place when it is.
 * @param {number} row
 * @param {{ scrollTop: number, height: number, rowHeight: number }} view
 */
export function scrolledTo(row, { scrollTop, height, rowHeight }) {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + height ? Math.max(0, top + rowHeight - height) : scrollTop;
}

/**
 * Rows that are fetched by offset where they are looked at.
 * @template T
 */
export class PagedRows {
  /**
   * @param {(offset: number, limit: number) => Promise<{ rows: T[], count: number }>} load
   * @param {() => void} changed
   * @param {number} [size] of a page
   */
  constructor(load, changed, size = 100) {
    this.load = load;
    this.changed = changed;
    this.size = Math.min(size, MOST_ASKED);
    this.count = 0;
    /** @type {Map<number, { rows: T[], generation: number }>} */
    this.pages = new Map();
    /** @type {Set<number>} pages on their way */
    this.asked = new Set();
    /** @type {Map<number, number>} page → generation that could not be had */
    this.failed = new Map();
    this.generation = 0;
    this.question = 0;
  }

  /** @param {number} index @returns {T | undefined} */
  get(index) {
    return this.pages.get(Math.floor(index / this.size))?.rows[index % this.size];
  }

  // Asks for what is missing or old among these rows.
  /** @param {number} first @param {number} last excluded */
  need(first, last) {
    const lastPage = Math.floor(Math.max(first, last - 1) / this.size);
    for (let page = Math.floor(first / this.size); page <= lastPage; page += 1) {
      if (this.pages.get(page)?.generation === this.generation) continue;
      if (this.asked.has(page) || this.failed.get(page) === this.generation) continue;
      void this.ask(page);
    }
  }

  /** What is there is old; it stays until the new has come. */
  refresh() {
    this.generation += 1;
    // A fleet that changes all the time must not keep every page that was once looked at.
    if (this.pages.size > 20) this.pages.clear();
  }

  /** What is there, and on its way, belongs to another question. */
  reset() {
    this.generation += 1;
    this.question += 1;
    this.pages.clear();
    this.asked.clear();
  }

  /** @param {number} page */
  async ask(page) {
    const { generation, question } = this;
    this.asked.add(page);
    try {
      const { rows, count } = await this.load(page * this.size, this.size);
      if (question !== this.question) return;
      this.pages.set(page, { rows, generation });
      this.count = count;
    } catch {
      // Who loads says what went wrong. A server that is gone is asked again when it is back, not at each frame.
      if (question === this.question) this.failed.set(page, generation);
    } finally {
      if (question === this.question) this.asked.delete(page);
      this.changed();
    }
  }
}
