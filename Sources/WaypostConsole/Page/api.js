// Requests to the console.

/** An answer that is an error, with what the server says of it. */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @type {{ ask: () => Promise<void> }} asks the user for the token; set by the app */
export const session = { ask: async () => undefined };

/** @type {Promise<void> | null} */
let signingIn = null;

/** Ends when there is a session again, however many asked for one. */
export function signIn() {
  signingIn ??= session.ask().finally(() => { signingIn = null; });
  return signingIn;
}

// What the token was exchanged for. Only this console's pages have it: a cookie would go to every port of this machine,
// and what is stored here stays with this one.
const STORED = 'session';

// What a request must show.
/** @returns {Record<string, string>} */
export function credentials() {
  const secret = localStorage.getItem(STORED);
  return secret === null ? {} : { Authorization: `Bearer ${secret}` };
}

/** @param {string} token */
export async function sendToken(token) {
  const { session: secret } = await request('/api/session', { method: 'POST' }, true, { Authorization: `Bearer ${token}` });
  localStorage.setItem(STORED, secret);
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal }} options
 * @param {boolean} [isLast] whether a missing session is an error
 * @param {Record<string, string>} [shown] what lets it in
 * @returns {Promise<any>}
 */
async function request(path, { method = 'GET', body, signal }, isLast = false, shown = credentials()) {
  let answer;
  try {
    answer = await fetch(path, {
      method, signal, cache: 'no-store', credentials: 'omit',
      ...(body === undefined
          ? { headers: shown }
          : { headers: { ...shown, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'UNREACHABLE', 'The console does not answer; it was stopped, or the network is down.');
  }
  if (answer.status === 401 && !isLast) {
    await signIn();
    return request(path, { method, body, signal }, true);
  }
  if (answer.status === 204) return null;
  const text = await answer.text();
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError(answer.status, 'BAD_ANSWER', `The console answered ${answer.status} with what is no JSON.`);
  }
  if (!answer.ok) {
    const { code = '', message = `The console answered ${answer.status}.` } = value?.error ?? {};
    throw new ApiError(answer.status, code, message);
  }
  return value;
}

/**
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query] what is empty is left out
 * @param {AbortSignal} [signal]
 */
export function get(path, query = {}, signal) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parameters.set(key, String(value));
  }
  const text = parameters.toString();
  return request(text ? `${path}?${text}` : path, { signal });
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export function post(path, body, signal) {
  return request(path, { method: 'POST', body, signal });
}

// The path of something of an agent.
/** @param {string} name @param {string} [rest] */
export const agentPath = (name, rest = '') => `/api/agents/${encodeURIComponent(name)}${rest}`;
