// From what is typed into a form to what is sent, by the types of the contract.

import { span } from './time.js';

/** @typedef {{ name: string, type: string, required?: boolean, optional?: boolean, values?: string[] | null }} Field */

// Whether a type is one of whole numbers, numbers, or yes and no; else it is text or JSON.
/** @param {string} type */
export function kindOf(type) {
  const plain = type.replace(/\?$/, '').toLowerCase();
  if (/^u?int(8|16|32|64)?$|^integer$/.test(plain)) return 'integer';
  if (/^(double|float|number)$/.test(plain)) return 'number';
  if (/^bool(ean)?$/.test(plain)) return 'boolean';
  return /^(string|text|uuid|url|date|segment|rest)?$/.test(plain) ? 'text' : 'json';
}

/**
 * @param {Field} field
 * @param {string} text
 * @returns {unknown} undefined for nothing
 * @throws {Error} saying what the field should have
 */
export function valueOf(field, text) {
  const isOptional = field.optional || field.required === false;
  if (text === '' && (isOptional || kindOf(field.type) !== 'text')) {
    if (isOptional) return undefined;
    throw new Error(`${field.name} has no value`);
  }
  switch (kindOf(field.type)) {
    case 'integer':
      if (!/^[+-]?\d+$/.test(text)) throw new Error(`${field.name} must be a whole number`);
      return Number(text);
    case 'number':
      if (text.trim() === '' || !Number.isFinite(Number(text))) throw new Error(`${field.name} must be a number`);
      return Number(text);
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new Error(`${field.name} must be true or false`);
      return text === 'true';
    case 'text': return text;
    default:
      try {
        return JSON.parse(text);
      } catch {
        throw new Error(`${field.name} must be JSON, for it is a ${field.type}`);
      }
  }
}

/**
 * When a command begins, from what is typed.
 * @param {string} wait how long from now; nothing for at once
 * @param {string} times days and times of day; nothing for all
 * @returns {{ in?: number, window?: string }}
 * @throws {Error} saying what was typed that is no time
 */
export function laterOf(wait, times) {
  const [text, window] = [wait.trim(), times.trim()];
  const time = text ? span(text) : undefined;
  if (time === null) throw new Error(`${text} is no time such as 30m or 2h`);
  return { ...(time === undefined ? {} : { in: time }), ...(window ? { window } : {}) };
}

/**
 * Puts values into the placeholders of a pattern: `app://orders/:id` and `{ id: 42 }` give `app://orders/42`.
 * @param {string} pattern
 * @param {Record<string, unknown>} values
 * @returns {{ url: string, rest: Record<string, unknown> }} `rest` has those without a placeholder
 */
export function fillPattern(pattern, values) {
  const rest = { ...values };
  const url = pattern.replace(/(?<=\/)(?::([A-Za-z_]\w*)|<(?:(\w+):)?(\w+)>)/g, (whole, plain, type, typed) => {
    const name = plain ?? typed;
    if (!(name in rest)) return whole;
    const text = String(rest[name]);
    delete rest[name];
    return type === 'path' ? text.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(text);
  });
  return { url, rest };
}
