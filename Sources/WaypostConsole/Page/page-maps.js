// Which maps are in force, and what would a draft change?
import { agentInput } from './agent-input.js';
import { agentPath, get, post } from './api.js';
import { ask } from './ask.js';
import {
  agentLinks, badge, button, cliLine, emptyState, errorState, field, fill, h, hint, link, loading, messageOf,
  noticeLine, say, since, table,
} from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { diffView, layersView, objectionsView, some } from './map-view.js';
import { Page } from './page.js';
import { bytes, count, plural } from './time.js';
import { viewHash } from './view.js';

/** @typedef {import('./types.js').FleetLayer} FleetLayer */
/** @typedef {import('./types.js').Version} Version */
/** @typedef {import('./types.js').DiffAnswer} DiffAnswer */

export class MapsPage extends Page {
  constructor() {
    super();
    this.fleet = h('section', { 'aria-label': 'In force in the fleet' });
    this.target = agentInput({ label: 'Agent or group', value: '', placeholder: 'k1 or @lobby', groups: true,
      changed: (target) => this.change({ target }) });
    this.target.input.dataset.search = '';
    this.one = h('div', { class: 'stack' });
    /** @type {HTMLTextAreaElement} */
    this.text = h('textarea', {
      rows: 7, spellcheck: 'false', 'aria-label': 'Draft',
      placeholder: '{"type":"map","rev":43,"entries":[…]}, an array of entries, or a file dropped here',
      ondragover: (/** @type {DragEvent} */ event) => { event.preventDefault(); this.text.classList.add('is-over'); },
      ondragleave: () => { this.text.classList.remove('is-over'); },
      ondrop: (/** @type {DragEvent} */ event) => void this.dropped(event),
      oninput: () => this.drafted(),
    });
    this.fault = h('p', { class: 'form-fault', role: 'status' });
    /** @type {HTMLInputElement} */
    this.file = h('input', { type: 'file', accept: '.json,application/json', 'aria-label': 'Map file',
      onchange: () => { const file = this.file.files?.[0]; if (file) void this.read(file); } });
    this.compare = button('Show what would change', () => void this.diff(), { class: 'primary', disabled: true });
    this.send = h('span');
    this.diffPlace = h('div', { class: 'answers', 'aria-live': 'polite' });
    this.append(this.heading('Maps'), this.notice, h('h2', null, 'In force in the fleet'), this.fleet,
      h('h2', null, 'One agent or group'), h('div', { class: 'where-form' },
        field('Agent or group', this.target.element)), this.one,
      h('section', { class: 'card draft', 'aria-label': 'Draft' },
        h('header', { class: 'card-head' }, h('h2', null, 'Draft'),
          h('span', { class: 'hint' }, 'A map with a rev takes the place of the whole map; an array of entries is added to that of one agent. '
            + 'Comparing sends nothing.')),
        this.text, this.fault, h('div', { class: 'draft-foot' }, this.file,
          this.compare, this.send),
        this.diffPlace));
    for (const type of ['fleet', 'opened']) this.onLive(type, () => this.again());
    this.onLive('status', () => this.drawSend());
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    const { target = '', layer = '' } = view.options;
    if (this.target && document.activeElement !== this.target.input) this.target.input.value = target;
    if (this.question === null) this.again();
    if (!this.isAsked(`${target}\n${layer}`)) {
      this.openTarget(target, layer);
      this.drafted();
    }
  }

  again() {
    void this.load('fleet', (signal) => get('/api/maps', {}, signal), ({ asOf, layers }) => {
      this.dated(asOf);
      fill(this.fleet, layers.length ? h('div', { class: 'cards' },
        layers.map((/** @type {FleetLayer} */ layer) => this.layerCard(layer)))
          : emptyState('maps', 'No agent has a map', 'Each URL goes where the build of its agent says.'));
    }, this.fleet);
  }

  /** @param {FleetLayer} layer */
  layerCard(layer) {
    const total = layer.revisions.reduce((sum, { agents }) => sum + agents, 0);
    const newest = Math.max(...layer.revisions.map(({ revision }) => revision));
    const name = layer.layer.startsWith('@') ? h('a', { href: viewHash('maps', '', { target: layer.layer }) },
      layer.layer) : layer.layer;
    return h('article', { class: 'card' }, h('header', { class: 'card-head' }, h('h3', null, name),
      h('span', { class: 'hint' }, plural(total, 'agent')),
      layer.refused.length ? badge('bad',
        `${count(layer.refused.reduce((sum, { agents }) => sum + agents, 0))} refused`, 'mapRefused')
        : layer.revisions.length > 1 ? badge('warn', 'more than one revision', 'change')
        : badge('ok', 'all the same')),
      h('ul', { class: 'revisions' }, layer.revisions.slice(0, 8).map(({ revision, agents, inactive, sample }) => {
        const bar = h('span', { class: revision === newest ? 'bar is-newest' : 'bar' });
        bar.style.width = `${Math.max(2, (agents / Math.max(1, total)) * 100)}%`;
        return h('li', { title: some(sample) }, h('span', { class: 'revision' }, revision === null ? '–' : `rev ${revision}`),
          h('span', { class: 'bar-place' }, bar), h('span', { class: 'bar-count' }, plural(agents, 'agent')),
          inactive ? badge('warn', `${plural(inactive, 'agent')} with entries not in force`, 'stopped') : null,
          agents === 1 ? sample.slice(0, 1).map((agent) => link(viewHash('agent', agent, { tab: 'maps' }), agent))
            : null);
      })), layer.revisions.length > 8 ? hint(`and ${plural(layer.revisions.length - 8, 'other revision')}`) : null,
      layer.refused.slice(0, 5).map(({ revision, code, name: word, detail, agents, sample }) =>
          h('div', { class: 'fault' }, icon('mapRefused'), h('div', null,
            h('p', null, h('b', null, `${revision === null ? '' : `rev ${revision}: `}${code} ${word}`), ` by ${plural(agents, 'agent')}: `,
              agentLinks(sample, 4, agents)),
            hint(detail)))));
  }

  /** @param {string} target @param {string} layer */
  openTarget(target, layer) {
    const one = this.one;
    delete one.dataset.drawn;
    fill(one);
    this.drop('one');
    if (!target) fill(one, hint('Name one to see each entry with its state, what was in force before, and to undo.'));
    else if (target.startsWith('@')) fill(one, hint('A group has no entries of its own; its agents have them.'),
      this.undoButton(target, null));
    else {
      void this.load(`one ${target}`, (signal) => get(agentPath(target, '/maps'), {}, signal), (maps) => {
        const history = h('div', { class: 'stack' });
        fill(one, layersView(maps, target), history);
        this.list = /** @type {import('./virtual-list.js').VirtualList | null} */ (one.querySelector('virtual-list'));
        void this.history(history, target, layer);
      }, one);
    }
  }

  /** @param {HTMLElement} place @param {string} target @param {string} layer */
  async history(place, target, layer) {
    fill(place, loading('What was in force before…'));
    try {
      const { versions } = await get(agentPath(target, '/history'), { layer }, this.end.signal);
      fill(place, h('h3', null, 'What was in force before'),
        versions.length ? table('History', ['Layer', 'Revision', 'By', 'From', 'Until', 'Size', 'Changes', ''],
          versions.map((/** @type {Version} */ one) => [
            one.layer, one.revision === null ? '–' : `rev ${one.revision}`, one.by ?? 'not known', since(one.from),
            one.until === null ? badge('ok', 'in force') : since(one.until), bytes(one.bytes),
            `+${one.added} −${one.removed} ~${one.changed}`,
            one.until === null ? null : this.undoButton(target, one.revision)])) : hint('Nothing was.'));
    } catch (error) {
      if (!this.end.signal.aborted) fill(place, errorState(error, () => void this.history(place, target, layer)));
    }
  }

  /** @param {string} target @param {number | null} revision */
  undoButton(target, revision) {
    if (!live.canCommand) return null;
    return button(revision === null ? 'Undo the last change…' : 'Back to this…', async () => {
      try {
        const body = { target, revision };
        const would = await post('/api/maps/undo', { ...body, send: false });
        ask({
          title: `Undo on ${target}`, act: 'Send it', path: '/api/maps/undo', body: () => ({ ...body, send: true }),
          text: `This sends ${would.origin} again, with the next revision.`, fields: [diffView(would)],
          confirm: target.startsWith('@') ? target : undefined, drawn: answersView, done: () => this.again(),
        });
      } catch (error) {
        say(messageOf(error), 'bad');
      }
    });
  }

  /** @param {DragEvent} event */
  async dropped(event) {
    const file = event.dataTransfer?.files[0];
    this.text.classList.remove('is-over');
    if (!file) return;
    event.preventDefault();
    await this.read(file);
  }

  /** @param {File} file */
  async read(file) {
    if (file.size > 1_048_576) {
      say(`${file.name} has ${bytes(file.size)}; a map has at most 256 KiB.`, 'bad');
      return;
    }
    this.text.value = await file.text();
    this.drafted();
  }

  /** Says at once what is wrong with the draft; a change makes the comparison old. */
  drafted() {
    const text = this.text.value.trim();
    const { target = '' } = this.view.options;
    let fault = '';
    try {
      if (text) JSON.parse(text);
    } catch (error) {
      fault = error instanceof Error ? error.message : 'This is no JSON.';
    }
    fill(this.fault, fault ? icon('warn') : null, fault || (text && !target ? 'Name the agent or group above.' : ''));
    this.compare.disabled = !text || fault !== '' || !target;
    this.compared = null;
    fill(this.diffPlace);
    this.drawSend();
  }

  async diff() {
    const place = this.diffPlace;
    const { target = '' } = this.view.options;
    const asked = { target, document: JSON.parse(this.text.value) };
    fill(place, loading('Asking the agents…'));
    try {
      const answer = /** @type {DiffAnswer} */ (await post('/api/maps/diff', asked, this.end.signal));
      this.compared = { ...asked, objections: answer.objections };
      fill(place, diffView(answer), cliLine(answer.command));
    } catch (error) {
      if (!this.end.signal.aborted) fill(place, errorState(error, () => void this.diff()));
    }
    this.drawSend();
  }

  drawSend() {
    const state = live.canCommand ? (this.compared ? 'ready' : 'compare') : 'reading';
    if (this.send.dataset.state === state) return;
    this.send.dataset.state = state;
    fill(this.send, state === 'ready' ? button('Send it…', () => this.sendIt(), { class: 'danger' })
        : state === 'reading' ? h('span', { class: 'hint' },
          'This console is for reading: it was started without --allow-commands.') : null);
  }

  sendIt() {
    const { compared } = this;
    if (!compared) return;
    const { objections, ...draft } = compared;
    const isGroup = draft.target.startsWith('@');
    ask({
      title: `Send the draft to ${draft.target}`, act: 'Send it', path: '/api/maps',
      // What was shown, and nothing that came since.
      body: () => ({ ...draft, allow: objections.map(({ kind }) => kind) }), fields: objectionsView(objections),
      text: isGroup ? 'It goes to all agents of the group, also to those that join later.'
        : 'The agent checks it, and keeps its old map when it refuses.',
      confirm: isGroup || objections.length ? draft.target : undefined, drawn: answersView, done: () => this.again(),
    });
  }
}

/** @param {{ answers: { agent: string, state: string, detail: string }[], silent: string[] }} answer */
function answersView({ answers, silent }) {
  const words = /** @type {Record<string, [string, string]>} */ ({ applied: ['ok', 'ok'],
    refused: ['bad', 'mapRefused'] });
  const kinds = ['refused', 'none', 'applied'].map((state) =>
      answers.filter((answer) => answer.state === state)).filter(({ length }) => length);
  return h('div', null, kinds.map((of) => h('div', null,
    h('p', null, badge(words[of[0].state]?.[0] ?? 'warn',
      `${count(of.length)} ${of[0].state === 'none' ? 'without an answer' : of[0].state}`, words[of[0].state]?.[1])),
    h('ul', { class: 'plain' }, of.slice(0, 10).map(({ agent, detail }) =>
        h('li', null, link(viewHash('agent', agent), agent), detail ? ` ${detail}` : ''))))),
    silent.length ? noticeLine('warn', `${plural(silent.length, 'agent')} did not answer: ${some(silent)}.`) : null);
}

customElements.define('page-maps', MapsPage);
