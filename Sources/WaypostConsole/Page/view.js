// The whole view in the address: `#/log?q=level:W&at=1795217000000`, `#/agent/kiosk-7?tab=log`.

/**
 * @typedef {object} View
 * @property {string} page
 * @property {string} name what the page is about: an agent, a command; empty for none
 * @property {Record<string, string>} options
 */

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} hash @returns {View} */
export function readView(hash) {
  const [path, ...rest] = hash.replace(/^#?\/?/, '').split('?');
  const slash = path.indexOf('/');
  const page = decoded(slash < 0 ? path : path.slice(0, slash));
  const name = slash < 0 ? '' : decoded(path.slice(slash + 1));
  return { page: page || 'fleet', name, options: Object.fromEntries(new URLSearchParams(rest.join('?'))) };
}

/**
 * The address of a view. Options that are empty are left out, so that equal views have equal addresses.
 * @param {string} page
 * @param {string} [name]
 * @param {Record<string, string | number | null | undefined>} [options]
 */
export function viewHash(page, name = '', options = {}) {
  const query = new URLSearchParams();
  for (const key of Object.keys(options).sort()) {
    const value = options[key];
    if (value !== null && value !== undefined && value !== '') query.set(key, String(value));
  }
  const text = query.toString();
  return `#/${encodeURIComponent(page)}${name ? `/${encodeURIComponent(name)}` : ''}${text ? `?${text}` : ''}`;
}

/**
 * Takes the token out of a fragment, so that it stays in no address.
 * @param {string} hash
 * @returns {{ token: string | null, hash: string }}
 */
export function takeToken(hash) {
  const found = /(^#?|[&?])token=([^&]*)/.exec(hash);
  if (!found) return { token: null, hash };
  const rest = hash.slice(0, found.index) + (found[1].length === 1 && found[1] !== '#' ? found[1] : '#')
    + hash.slice(found.index + found[0].length).replace(/^&/, '');
  return { token: decoded(found[2]), hash: rest.replace(/[?&]$/, '').replace(/^#$/, '') };
}
