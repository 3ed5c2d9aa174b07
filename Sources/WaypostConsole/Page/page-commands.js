// Which way did a command go?
import { agentPath, get } from './api.js';
import { ask } from './ask.js';
import { partsColumn, textColumn, timeColumn } from './columns.js';
import { badge, button, code, emptyState, factList, fill, h, hint, link, since } from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { Page, go, later } from './page.js';
import { clock, duration, exact } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').Command} Command */
/** @typedef {import('./types.js').Line} Line */

/** @param {Command} command */
const isFailure = ({ code: number, name }) => number !== null && number !== 0 && name !== 'OK';

/** @param {Command} command */
function stateBadge(command) {
  const { state } = command;
  if (state === 'unknown') return badge('plain', 'not known', 'unknown');
  if (state !== 'ended') return badge('warn', state, state === 'running' ? 'play' : 'wait');
  return isFailure(command) ? badge('bad', `${command.code} ${command.name ?? ''}`) : badge('ok', 'ended');
}

/** @param {Command} command */
const beginOf = ({ sent, received, running }) => sent ?? received ?? running;
/** @param {Command} command */
const whatOf = ({ type, what }) => [type, what].filter(Boolean).join(' ') || 'not known';

/** @param {Command} command */
const beginsText = ({ state, due }) => (state === 'scheduled' && due !== null ? `begins ${exact(due)}` : '');

export class CommandsPage extends Page {
  constructor() {
    super();
    this.place = h('div', { class: 'commands-place' });
    this.state = h('div', { class: 'list-state' });
    this.append(this.heading('Commands'), this.notice, this.place);
    /** @type {Command[]} */
    this.commands = [];
    // A command leaves lines and replies; there is no event of its own.
    const soon = later(() => this.ask(), 300);
    for (const type of ['agent', 'failures', 'opened']) this.onLive(type, soon);
    const timer = setInterval(() => { if (!document.hidden) this.ask(); }, 3_000);
    this.end.signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    const isSame = this.isAsked(view.name);
    this.classList.toggle('is-full', !view.name);
    if (isSame) return;
    delete this.place.dataset.drawn;
    this.list = null;
    if (!view.name) this.openList();
    this.ask();
  }

  streams() {
    return { agent: this.view.options.agent ?? '' };
  }

  openList() {
    const page = this;
    this.list = new VirtualList({
      label: 'Commands', source: { get count() { return page.shown().length; },
        get: (index) => page.shown()[index] }, key: (command) => `${command.agent} ${command.id}`,
      open: (command) => go(viewHash('commands', command.id, { agent: command.agent })),
      columns: [
        partsColumn('state', 'State', (command) => [stateBadge(command)]),
        timeColumn('sent', 'Sent', beginOf),
        partsColumn('agent', 'Agent', ({ agent }) => [h('a', { href: viewHash('agent', agent), tabindex: '-1' },
          agent)]),
        textColumn('what', 'What', whatOf),
        textColumn('took', 'Took', ({ running, received, sent, ended }) => {
          const begin = running ?? received ?? sent;
          return ended !== null && begin !== null ? duration(ended - begin) : '';
        }),
        textColumn('from', 'From', ({ from }) => from ?? 'not known'),
        textColumn('id', 'Id', ({ id }) => id),
        textColumn('detail', 'Detail', (command) => command.detail ?? command.progress ?? beginsText(command)),
      ],
    });
    /** @type {HTMLInputElement} */
    const search = h('input', { type: 'search', 'data-search': true, 'aria-label': 'Filter commands',
      placeholder: 'Agent, id, URL, sender…', value: this.view.options.filter ?? '',
      oninput: later(() => this.change({ filter: search.value }), 150) });
    this.state = h('div', { class: 'list-state' });
    fill(this.place, h('div', { class: 'filters' }, h('label', { class: 'search' }, icon('search'), search)),
      h('div', { class: 'list-place' }, this.list, this.state));
  }

  shown() {
    const part = (this.view.options.filter ?? '').toLowerCase();
    const all = this.commands ?? [];
    return part ? all.filter((command) =>
        Object.values(command).some((value) => typeof value === 'string' && value.toLowerCase().includes(part))) : all;
  }

  ask() {
    const { name, options } = this.view;
    if (name) {
      void this.load(`command ${name}`, (signal) => get(`/api/commands/${encodeURIComponent(name)}`,
        { agent: options.agent }, signal), (answer) => {
          this.dated(answer.asOf);
          this.drawOne(answer);
        }, this.place);
      return;
    }
    void this.load('commands', (signal) => get('/api/commands', { limit: 200 }, signal), ({ asOf, commands }) => {
      this.dated(asOf);
      this.commands = commands;
      this.list?.refresh();
      fill(this.state, this.shown().length ? null
          : commands.length ? emptyState('search', 'No command fits')
          : emptyState('commands', 'The console has seen no command yet',
            'Its own, and those that logs, replies and failures name, appear here.'));
    }, this.state);
  }

  /** @param {{ command: Command | null, lines: Line[], failure: any }} answer */
  drawOne({ command, lines, failure }) {
    const place = this.place;
    const { name, options } = this.view;
    if (!command) {
      fill(place, link(viewHash('commands'), 'All commands'),
        emptyState('unknown', `${options.agent || 'The agent'} knows no command ${name}`,
          'It never came, or it is so long ago that the agent has forgotten it.'));
      return;
    }
    /** @type {[string, number | null][]} */
    const steps = [['sent', command.sent], ['received', command.received], ['running', command.running],
      ['ended', command.ended]];
    let before = /** @type {number | null} */ (null);
    const way = steps.map(([word, time]) => {
      const gap = time !== null && before !== null ? `+${duration(time - before)}` : '';
      if (time !== null) before = time;
      if (time === null) {
        const why = command.state === 'ended' ? 'not known' : 'not yet';
        return h('li', { class: 'step is-open' }, icon('wait'), h('b', null, word), h('span', { class: 'hint' }, why));
      }
      const isBad = word === 'ended' && isFailure(command);
      return h('li', { class: isBad ? 'step is-bad' : 'step is-done' }, icon(isBad ? 'bad' : 'ok'), h('b', null, word),
        h('span', { title: exact(time) }, clock(time, true)), h('span', { class: 'hint' }, gap),
        word === 'running' && command.state === 'running' ? since(time, 'since ') : null);
    });
    fill(place, h('p', null, link(viewHash('commands'), 'All commands')),
      h('section', { class: 'card' }, h('header', { class: 'card-head' },
        h('h2', null, whatOf(command)), stateBadge(command),
        live.canCommand && command.state !== 'ended' ? button('Cancel…',
          () => ask({ title: 'Cancel the command', act: 'Cancel it', path: agentPath(command.agent, '/cancel'),
            body: () => ({ id: command.id }), done: () => this.ask() }), { class: 'danger-quiet' }) : null),
        h('ol', { class: 'way' }, way), factList([
          ['Agent', link(viewHash('agent', command.agent), command.agent)], ['From', command.from ?? 'not known'],
          ['Id', code(command.id)],
          ['Attempts', command.attempt === null ? 'not known' : String(command.attempt)],
          command.code === null ? null : ['Reply', `${command.code} ${command.name ?? ''}`],
          command.detail ? ['Detail', command.detail] : null,
          command.progress ? ['Progress', command.progress] : null,
          command.state === 'scheduled' ? ['Begins', command.due === null ? 'not known' : exact(command.due)] : null,
          failure ? ['Failure', failure.detail ?? JSON.stringify(failure)] : null,
      ])),
      h('h2', null, 'What was said of it'), lines.length
        ? h('ul', { class: 'lines' }, lines.slice(-60).map((line) => h('li', { class: `level-${line.level}` },
          h('span', { class: 'time', title: exact(line.t) }, clock(line.t, true)),
          h('span', { class: 'level' }, line.level), h('span', { class: 'tag' }, line.tag),
          h('span', { class: 'message' }, line.message))))
        : hint('No line names it.'),
      h('p', null, link(viewHash('log', '', { q: `ref:${command.id}` }), 'Its lines in the log')));
  }
}

customElements.define('page-commands', CommandsPage);
