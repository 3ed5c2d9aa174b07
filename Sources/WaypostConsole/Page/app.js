// The frame around the pages: session, address, navigation, keys.
import { sendToken, session } from './api.js';
import { fill, h, messageOf, put, say, template, tick } from './dom.js';
import { icon } from './icons.js';
import { Page, go } from './page.js';
import { AgentPage } from './page-agent.js';
import { CommandsPage } from './page-commands.js';
import { ConsolePage } from './page-console.js';
import { FailuresPage } from './page-failures.js';
import { FleetPage } from './page-fleet.js';
import { LogPage } from './page-log.js';
import { MapsPage } from './page-maps.js';
import { RolloutsPage } from './page-rollouts.js';
import { WherePage } from './page-where.js';
import './status-bar.js';
import { readView, takeToken, viewHash } from './view.js';

/** @type {Record<string, { title: string, short: string, make: new () => Page, isInList: boolean }>} */
const PAGES = {
  fleet: { title: 'Fleet', short: 'Fleet', make: FleetPage, isInList: true },
  agent: { title: 'Agent', short: 'Agent', make: AgentPage, isInList: false },
  maps: { title: 'Maps', short: 'Maps', make: MapsPage, isInList: true },
  rollouts: { title: 'Roll-outs', short: 'Roll-outs', make: RolloutsPage, isInList: true },
  where: { title: 'Where does this URL go?', short: 'Where to', make: WherePage, isInList: true },
  log: { title: 'Log', short: 'Log', make: LogPage, isInList: true },
  failures: { title: 'Failures', short: 'Failures', make: FailuresPage, isInList: true },
  commands: { title: 'Commands', short: 'Commands', make: CommandsPage, isInList: true },
  console: { title: 'Console', short: 'Console', make: ConsolePage, isInList: true },
};

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const nav = /** @type {HTMLElement} */ (document.getElementById('nav'));

/** @type {Page | null} */
let page = null;
let shownPage = '';

function route() {
  const token = takeToken(location.hash);
  if (token.token !== null) {
    history.replaceState(null, '', token.hash || viewHash('fleet'));
    void enter(token.token).then(route);
    return;
  }
  const view = readView(location.hash);
  const known = Object.hasOwn(PAGES, view.page) ? PAGES[view.page] : null;
  if (!known) {
    go(viewHash('fleet'), true);
    return;
  }
  const isNew = view.page !== shownPage || !page;
  if (isNew) {
    page = new known.make();
    shownPage = view.page;
    page.view = view;
    main.replaceChildren(page);
  }
  document.title = `${view.name || known.title} – Waypost`;
  for (const item of nav.querySelectorAll('a')) {
    const isHere = item.dataset.page === view.page || (view.page === 'agent' && item.dataset.page === 'fleet');
    if (isHere) item.setAttribute('aria-current', 'page');
    else item.removeAttribute('aria-current');
  }
  page?.show(view);
  if (isNew) page?.querySelector('h1')?.focus({ preventScroll: true });
}

/** @param {string} token */
async function enter(token) {
  try {
    await sendToken(token);
  } catch (error) {
    say(messageOf(error), 'bad');
  }
}

session.ask = () => new Promise((/** @type {(value: void) => void} */ done) => {
  const dialog = h('dialog', { class: 'dialog', 'aria-labelledby': 'sign-in-title' }, template('sign-in'));
  const form = /** @type {HTMLFormElement} */ (dialog.querySelector('form'));
  const input = /** @type {HTMLInputElement} */ (dialog.querySelector('input'));
  const fault = /** @type {HTMLElement} */ (dialog.querySelector('.form-fault'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    try {
      await sendToken(takeToken(text.slice(Math.max(0, text.indexOf('#')))).token ?? text);
      dialog.close();
      dialog.remove();
      done();
    } catch (error) {
      fill(fault, icon('warn'), messageOf(error));
    }
  });
  // There is nothing behind it to look at.
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
});

function help() {
  if (document.querySelector('dialog[open]')) return;
  const dialog = h('dialog', { class: 'dialog wide', 'aria-labelledby': 'help-title' }, template('help-text'));
  dialog.addEventListener('close', () => dialog.remove());
  dialog.querySelector('[data-close]')?.addEventListener('click', () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {number} rows */
function step(rows) {
  page?.list?.focus({ preventScroll: true });
  page?.list?.move(rows);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
  const target = event.target instanceof HTMLElement ? event.target : document.body;
  const isTyping = target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
  if (event.key === 'Escape') {
    if (isTyping) target.blur();
    else if (page?.close()) event.preventDefault();
    return;
  }
  if (isTyping) return;
  const isOnControl = target.matches('a, button, summary');
  const list = target.closest('virtual-list') ?? page?.list;
  /** @type {Record<string, () => unknown>} */
  const keys = {
    '/': () => {
      const search = page?.querySelector('[data-search]');
      if (search instanceof HTMLInputElement) {
        search.focus();
        search.select();
      }
    },
    j: () => step(1),
    k: () => step(-1),
    ' ': () => !isOnControl && page?.pause(),
    Enter: () => !isOnControl && list === page?.list && page?.list?.openSelected(),
    '?': help,
  };
  if (keys[event.key] && keys[event.key]() !== false) event.preventDefault();
}

for (const [name, { title, short, isInList }] of Object.entries(PAGES)) {
  if (isInList) put(nav, h('a', { href: viewHash(name), 'data-page': name, title }, icon(name),
    h('span', null, short)));
}
document.getElementById('help')?.addEventListener('click', help);
document.getElementById('skip')?.addEventListener('click', () => main.focus());
addEventListener('hashchange', route);
addEventListener('keydown', pressed);
setInterval(tick, 1_000);
route();
