// A dialog that changes something: what is asked, the same as a line for the shell, and what came of it.
import { post } from './api.js';
import { badge, button, cliLine, errorState, field, fill, h, messageOf } from './dom.js';
import { icon } from './icons.js';
import { later } from './page.js';
import { exact } from './time.js';

/** @typedef {import('./types.js').Reply} Reply */
/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} [text]
 * @property {HTMLElement[]} [fields]
 * @property {string} path where it is sent
 * @property {() => unknown} body what is sent, from the fields; throws an error that says what is missing
 * @property {string} act the word on the button
 * @property {string} [confirm] what must be typed first
 * @property {(answer: any) => Node} [drawn] the answer
 * @property {() => void} [done]
 */

let dialogs = 0;

/** @param {Question} question */
export function ask(question) {
  const id = `ask-${dialogs += 1}`;
  const preview = h('div', { class: 'preview' });
  const fault = h('div', { class: 'form-fault', role: 'alert' });
  const answer = h('div', { class: 'answer', role: 'status', 'aria-live': 'polite' });
  const word = question.confirm === undefined ? null
    : h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const send = h('button', { class: word ? 'danger' : 'primary', disabled: word !== null }, question.act);
  const close = button('Close', () => dialog.close());
  const form = h('form', { method: 'dialog' }, h('h2', { id }, question.title),
    question.text ? h('p', null, question.text) : null, ...(question.fields ?? []),
    word ? field(`To confirm, type ${question.confirm}`, word) : null, preview, fault, answer,
    h('div', { class: 'dialog-foot' }, close, send));
  /** @type {HTMLDialogElement} */
  const dialog = h('dialog', { class: 'dialog', 'aria-labelledby': id, onclose: () => dialog.remove() }, form);

  const body = () => ({ .../** @type {object} */ (question.body()), ...(word ? { confirm: word.value.trim() } : {}) });
  const typed = () => {
    if (word) send.disabled = word.value.trim() !== question.confirm;
  };
  const preview1 = later(async () => {
    try {
      // The line does not depend on the word that confirms.
      const sent = { .../** @type {object} */ (question.body()), ...(word ? { confirm: question.confirm } : {}) };
      fill(preview, cliLine((await post(`${question.path}?dry=1`, sent)).command));
    } catch {
      fill(preview);
    }
  }, 200);
  form.addEventListener('input', () => {
    typed();
    fill(fault);
    preview1();
  });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      const sent = body();
      fill(fault);
      send.disabled = true;
      fill(answer, h('p', { class: 'loading' }, h('span', { class: 'spinner' }), 'Sent; waiting for the answer…'));
      const got = await post(question.path, sent);
      fill(answer, question.drawn ? question.drawn(got) : replyView(got.reply));
      if (got.command) fill(preview, cliLine(got.command));
      // Once more only by typing it once more.
      if (word) word.value = '';
      question.done?.();
    } catch (error) {
      fill(answer);
      fill(fault, icon('warn'), messageOf(error));
    } finally {
      send.disabled = false;
      typed();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
  preview1();
}

// What an agent answered.
/** @param {Reply | null} reply */
export function replyView(reply) {
  if (!reply) return errorState('There was no reply.');
  const isOk = reply.status === 'ok' || reply.status === 'accepted';
  return h('div', { class: `reply ${isOk ? 'is-ok' : 'is-bad'}` },
    h('p', null, badge(isOk ? 'ok' : 'bad', reply.status), reply.code ? ` ${reply.code} ${reply.name ?? ''}` : '',
      reply.ms === null || reply.ms === undefined ? '' : ` in ${reply.ms} ms`),
    reply.begins ? h('p', null, `It begins ${exact(reply.begins)}.`) : null,
    reply.detail ? h('p', null, reply.detail) : null,
    reply.nearest?.length ? h('p', null, 'Did you mean ', h('b', null, reply.nearest.join(', ')), '?') : null,
    reply.result === undefined || reply.result === null ? null
      : h('pre', { tabindex: '0' }, typeof reply.result === 'string' ? reply.result
          : JSON.stringify(reply.result, null, 2)));
}
