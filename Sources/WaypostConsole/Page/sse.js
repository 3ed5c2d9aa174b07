// Server-sent events, taken apart. Read with fetch rather than EventSource: that gives up on an HTTP error, does not
// say which, and knows no back-off.

/** @typedef {{ event: string, data: string, id: string | null }} Frame */

export class EventParser {
  constructor() {
    this.rest = '';
    /** @type {string | null} the last `id:`, to go on behind it */
    this.lastID = null;
  }

  /** @param {string} text as it came in, cut anywhere @returns {Frame[]} */
  push(text) {
    const all = this.rest + text;
    // It may be the first half of a CRLF.
    const half = all.endsWith('\r') ? '\r' : '';
    const blocks = all.slice(0, all.length - half.length).replaceAll(/\r\n?/g, '\n').split('\n\n');
    this.rest = (blocks.pop() ?? '') + half;
    return blocks.flatMap((block) => this.frame(block) ?? []);
  }

  /** @param {string} block @returns {Frame | null} */
  frame(block) {
    let event = 'message';
    /** @type {string[]} */
    const data = [];
    /** @type {string | null} */
    let id = null;
    for (const line of block.split('\n')) {
      // Not by `.` of an expression, for which a line ends in more places than here.
      const mark = line.indexOf(':');
      const name = mark < 0 ? line : line.slice(0, mark);
      const value = mark < 0 ? '' : line.slice(mark + 1).replace(/^ /, '');
      if (name === 'event') event = value;
      else if (name === 'data') data.push(value);
      else if (name === 'id') id = value;
    }
    if (id !== null) this.lastID = id;
    return data.length ? { event, data: data.join('\n'), id } : null;
  }
}

// How long to wait before the next try, in milliseconds: twice as long each time, up to half a minute.
/** @param {number} tries @param {number} [chance] 0…1 */
export function backOff(tries, chance = Math.random()) {
  // Spread, so that the tabs of a console that is back do not all come at once.
  return Math.min(30_000, 500 * 2 ** Math.min(tries, 10)) * (0.75 + chance / 2);
}

/**
 * How far what is shown can be believed.
 * @param {{ link: 'opening' | 'open' | 'gone', status: import('./types.js').Status | null, now: number }} live
 * @returns {'opening' | 'fresh' | 'stale' | 'offline' | 'gone'}
 */
export function freshness({ link, status, now }) {
  if (link === 'gone') return 'gone';
  if (!status) return 'opening';
  if (!status.connected) return 'offline';
  return now - status.asOf > 10_000 ? 'stale' : 'fresh';
}
