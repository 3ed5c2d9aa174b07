// The language of `waypost logcat --query`, as `Sources/WaypostMessages/Log/LogQuery.swift` reads it. Both are tested
// with `Tests/EndToEndTests/Vectors/query.jsonl`.
import { span } from './time.js';

/** @typedef {import('./types.js').Line} Line */
/** @typedef {(line: Line, now: number) => boolean} Test */
/**
 * @typedef {object} Term
 * @property {number} start where it begins in the text
 * @property {number} value where its value begins
 * @property {number} end
 * @property {string} key empty for a term without one
 * @property {boolean} negated
 * @property {boolean} isExpression
 * @property {Test} test
 */
/** @typedef {'part' | 'whole' | 'expression'} How */

export const KEYS = ['agent', 'tag', 'level', 'code', 'ref', 'trace', 'url', 'message', 'age', 'is'];
export const LEVELS = 'VDIWEF';
/** @type {Record<string, string>} */
export const LEVEL_NAMES = { V: 'verbose', D: 'debug', I: 'info', W: 'warning', E: 'error', F: 'fatal' };
/** @type {Record<string, string>} */
const OTHER_LEVEL_NAMES = { warn: 'W', assert: 'F' };

/** What is wrong with a query, and where in it. */
export class QueryError extends Error {
  /** @param {string} message @param {number} start @param {number} end */
  constructor(message, start, end) {
    super(message);
    this.start = start;
    this.end = end;
  }
}

export class Query {
  /** @param {string} text @throws {QueryError} */
  constructor(text) {
    this.text = text;
    /** @type {Term[]} */
    this.terms = [...read(text)];
  }

  get hasExpression() {
    return this.terms.some(({ isExpression }) => isExpression);
  }

  /**
   * Terms of one key are alternatives, those of different keys must all hold, and none that is negated may.
   * @param {Line} line
   * @param {number} now
   */
  holds(line, now) {
    /** @type {Map<string, boolean>} */
    const wanted = new Map();
    for (const term of this.terms) {
      if (term.negated) {
        if (term.test(line, now)) return false;
      } else if (!wanted.get(term.key)) {
        wanted.set(term.key, term.test(line, now));
      }
    }
    return [...wanted.values()].every(Boolean);
  }
}

/**
 * @param {string} text
 * @returns {{ query: Query, error: null } | { query: null, error: QueryError }}
 */
export function check(text) {
  try {
    return { query: new Query(text), error: null };
  } catch (error) {
    if (error instanceof QueryError) return { query: null, error };
    throw error;
  }
}

// A value as it must stand behind a key: in quotes where it has to.
/** @param {string} value */
export function quoted(value) {
  return /^[^\s"']+$/.test(value) ? value : `"${value.replaceAll('"', '\\"')}"`;
}

/**
 * The query with the term of a key replaced, or without it.
 * @param {string} text
 * @param {string} key
 * @param {string} term the whole new term; empty for none
 */
export function replaceTerm(text, key, term) {
  const { query } = check(text);
  let rest = text;
  for (const { start, end } of (query?.terms ?? []).filter((old) => old.key === key && !old.negated).reverse()) {
    // With the white space on one side; what stands in quotes elsewhere keeps its own.
    const behind = /^[ \t]*/.exec(rest.slice(end))?.[0].length ?? 0;
    rest = rest.slice(0, start) + rest.slice(end + behind);
  }
  return [rest.replace(/^[ \t]+|[ \t]+$/g, ''), term].filter(Boolean).join(' ');
}

/** @param {string} text @returns {Generator<Term>} */
function* read(text) {
  let at = 0;
  for (;;) {
    while (text[at] === ' ' || text[at] === '\t') at += 1;
    if (at >= text.length) return;
    const start = at;
    const negated = text[at] === '-' && at + 1 < text.length;
    if (negated) at += 1;
    const head = /^([A-Za-z]+)([=~]?):/.exec(text.slice(at));
    if (head) at += head[0].length;
    const begin = at;
    let value = '';
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      at += 1;
      while (at < text.length && text[at] !== quote) {
        // Only a quote is escaped, so that an expression keeps its backslashes.
        if (text[at] === '\\' && text[at + 1] === quote) at += 1;
        value += text[at];
        at += 1;
      }
      if (at >= text.length) {
        const shown = [...text.slice(begin)].slice(0, 20).join('');
        throw new QueryError(`the query has a quote that is not closed: ${shown}`, start, text.length);
      }
      at += 1;
    } else {
      while (at < text.length && text[at] !== ' ' && text[at] !== '\t') at += 1;
      value = text.slice(begin, at);
    }
    /** @type {How} */
    const how = head?.[2] === '=' ? 'whole' : head?.[2] === '~' ? 'expression' : 'part';
    const fault = (/** @type {string} */ why) =>
      new QueryError(`the query's term ${JSON.stringify(text.slice(start, at))} ${why}`, start, at);
    const [key, test] = term(head ? head[1] : null, how, value, fault);
    yield { start, value: begin, end: at, key, negated, isExpression: how === 'expression', test };
  }
}

/**
 * @param {string | null} name
 * @param {How} how
 * @param {string} value
 * @param {(why: string) => QueryError} fault
 * @returns {[string, Test]}
 */
function term(name, how, value, fault) {
  if (name === null) {
    if (!value) throw fault('is empty');
    const isIn = pattern(value, 'part', fault);
    return ['', (line) => isIn(line.tag) || isIn(line.message)];
  }
  const key = name.toLowerCase();
  if (!KEYS.includes(key)) {
    const near = nearest(key, KEYS);
    throw fault(`has an unknown key${near ? `; did you mean ${near}?` : ''} (keys are ${KEYS.join(', ')}; `
        + 'for a text with a colon in it use quotes)');
  }
  if (!value) throw fault('has no value');
  switch (key) {
    case 'level': {
      const lowest = LEVELS.indexOf(levelNamed(value) ?? '?');
      if (lowest < 0) throw fault(`must name one of ${[...LEVELS].join(' ')}`);
      return [key, (line) => LEVELS.indexOf(line.level) >= lowest];
    }
    case 'age': {
      const longest = span(value);
      if (longest === null) throw fault('must have a time such as 30s, 10m, 1h');
      return [key, (line, now) => now - line.t <= longest];
    }
    case 'is':
      if (value.toLowerCase() !== 'failure') throw fault('must be is:failure');
      return [key, (line) => line.failure];
    case 'code': {
      const isIn = pattern(value, how, fault);
      return [key, (line) => line.code !== null && (isIn(String(line.code)) || isIn(line.name ?? ''))];
    }
    default: {
      const isIn = pattern(value, how, fault);
      const field = /** @type {'agent' | 'tag' | 'ref' | 'trace' | 'url' | 'message'} */ (key);
      return [key, (line) => { const text = line[field]; return text !== null && isIn(text); }];
    }
  }
}

/** @param {string} value */
export function levelNamed(value) {
  const word = value.toLowerCase();
  return [...LEVELS].find((level) => level === word.toUpperCase() || LEVEL_NAMES[level] === word)
    ?? OTHER_LEVEL_NAMES[word];
}

/**
 * @param {string} wanted
 * @param {How} how
 * @param {(why: string) => QueryError} fault
 * @returns {(text: string) => boolean}
 */
function pattern(wanted, how, fault) {
  if (how === 'whole') return (text) => text === wanted;
  if (how === 'part') {
    const part = wanted.toLowerCase();
    return (text) => text.toLowerCase().includes(part);
  }
  try {
    const expression = new RegExp(wanted, 'u');
    return (text) => expression.test(text);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^.*: /, '') : '';
    throw fault(`is not a regular expression: ${why}`);
  }
}

// The name with the smallest edit distance, of at most two.
/** @param {string} name @param {string[]} names */
function nearest(name, names) {
  const near = names.map((known) => ({ known, slips: known.startsWith(name) ? 1 : distance(name, known) }))
    .filter(({ slips }) => slips <= 2)
    .sort((one, other) => one.slips - other.slips || (one.known < other.known ? -1 : 1));
  return near[0]?.known;
}

/** @param {string} one @param {string} other */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= Math.min(one.length, 64); i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[other.length];
}
