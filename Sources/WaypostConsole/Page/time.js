// Times and numbers as people read them. Nothing here knows the page or the clock.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** @type {[string, number][]} `ms` before `s`, which also ends it. */
const SUFFIXES = [['ms', 1], ['s', SECOND], ['min', MINUTE], ['m', MINUTE], ['h', HOUR], ['d', DAY]];

/**
 * Milliseconds of a time as it is typed: `500ms`, `10s`, `1.5h`; a bare number is seconds.
 * @param {string} text
 * @returns {number | null} null when it is none, or longer than a year
 */
export function span(text) {
  const unit = SUFFIXES.find(([suffix]) => text.endsWith(suffix));
  const number = unit ? text.slice(0, -unit[0].length).replace(/ $/, '') : text;
  if (!/^(\d+\.?\d*|\.\d+)$/.test(number)) return null;
  const milliseconds = Math.round(Number(number) * (unit?.[1] ?? SECOND));
  return milliseconds <= 366 * DAY ? milliseconds : null;
}

// How long: `850 ms`, `12 s`, `3 min`, `2 h 5 min`, `4 d`.
/** @param {number} milliseconds */
export function duration(milliseconds) {
  const value = Math.max(0, milliseconds);
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${trimmed(value / SECOND)} s`;
  if (value < 2 * MINUTE) return `${Math.floor(value / SECOND)} s`;
  if (value < 2 * HOUR) return `${Math.floor(value / MINUTE)} min`;
  if (value < 3 * HOUR) {
    const minutes = Math.floor((value % HOUR) / MINUTE);
    return `${Math.floor(value / HOUR)} h${minutes ? ` ${minutes} min` : ''}`;
  }
  return value < 2 * DAY ? `${Math.floor(value / HOUR)} h` : `${Math.floor(value / DAY)} d`;
}

// What is left of a time: `9 min 05 s`.
/** @param {number} milliseconds */
export function left(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / SECOND));
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600
    ? `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s` : duration(seconds * SECOND);
}

// How long ago: `now`, `28 s ago`, `in 3 min`.
/** @param {number | null} time @param {number} now */
export function ago(time, now) {
  if (time === null) return 'not known';
  const age = now - time;
  if (Math.abs(age) < 2 * SECOND) return 'now';
  return age > 0 ? `${duration(Math.floor(age / SECOND) * SECOND)} ago` : `in ${duration(-age)}`;
}

/** @param {number} value @param {number} [width] */
const two = (value, width = 2) => String(value).padStart(width, '0');

// The time of day by the browser's zone: `14:03:07`, with milliseconds when asked.
/** @param {number} time @param {boolean} [fine] */
export function clock(time, fine = false) {
  const date = new Date(time);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return fine ? `${text}.${two(date.getMilliseconds(), 3)}` : text;
}

// The day by the browser's zone: `2026-11-26`.
/** @param {number} time */
export function day(time) {
  const date = new Date(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

// Date, time and zone, for titles: `2026-11-26 14:03:07.123 UTC+1`.
/** @param {number} time */
export function exact(time) {
  const offset = -new Date(time).getTimezoneOffset();
  const minutes = Math.abs(offset) % 60;
  const zone = `UTC${offset < 0 ? '−' : '+'}${Math.floor(Math.abs(offset) / 60)}${minutes ? `:${two(minutes)}` : ''}`;
  return `${day(time)} ${clock(time, true)} ${offset === 0 ? 'UTC' : zone}`;
}

// A number in groups of three: `10 000`.
/** @param {number} value */
export function count(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202F');
}

// `1 agent`, `5 agents`.
/** @param {number} value @param {string} word @param {string} [words] */
export function plural(value, word, words = `${word}s`) {
  return `${count(value)} ${value === 1 ? word : words}`;
}

// A number with at most one digit behind the point.
/** @param {number} value */
export function trimmed(value) {
  return value >= 100 ? count(value) : String(Math.round(value * 10) / 10);
}

/** @param {number} value */
export function bytes(value) {
  if (value < 1_024) return `${value} B`;
  return value < 1_048_576 ? `${trimmed(value / 1_024)} KiB` : `${trimmed(value / 1_048_576)} MiB`;
}

// What does something that is seen where it stands: it joins or colours emoji, or groups the digits of a number.
const EMOJI = String.raw`(?![\0-\x7F])\p{Emoji}`;
const SEEN = String.raw`(?<=${EMOJI})[\uFE0E\uFE0F]|(?<=[0-9#*])[\uFE0E\uFE0F](?=\u20E3)|(?<=${EMOJI}[\uFE0E\uFE0F]?)\u200D(?=${EMOJI})|(?<=[0-9])\u202F(?=[0-9])`;
// What is drawn over the character before it: over a letter it belongs there, and so do a few of them.
const MARK = String.raw`(?!\p{Default_Ignorable_Code_Point})[\p{Mn}\p{Me}]`;
/** Characters that no one sees, or that change the text around them: by what they are, not by a list. */
const UNSEEN = new RegExp(String.raw`(?!${SEEN}|[ \t\n])`
  + String.raw`[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Z}\p{Noncharacter_Code_Point}\u2800]`
  + String.raw`|(?<![\p{L}\p{M}\p{N}\p{So}])(?:${MARK})+|(?<=(?:${MARK}){8})${MARK}`, 'gu');

// A text in which each character can be seen, as the command line prints it: `\u{202E}`.
/** @param {string} text */
export function visible(text) {
  return text.replace(UNSEEN, (found) => [...found].map((character) =>
      `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`).join(''));
}

// Whether it is a time that a calendar has.
/** @param {number} time */
export const isTime = (time) => Math.abs(time) <= 8.64e15;
