// Who is in trouble?
import { get } from './api.js';
import { partsColumn, sparkColumn, textColumn, timeColumn } from './columns.js';
import {
  CONDITIONS, badge, choice, code, conditionBadge, emptyState, errorState, fill, h, loading, messageOf,
  noticeLine, since,
} from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { Page, later } from './page.js';
import { count, plural } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';
import { PagedRows } from './window.js';

/** @typedef {import('./types.js').Fleet} Fleet */
/** @typedef {import('./types.js').AgentRow} AgentRow */
/** @typedef {import('./types.js').Condition} Condition */

const OPTIONS = ['filter', 'state', 'group', 'version', 'problem', 'sort', 'desc'];

export class FleetPage extends Page {
  constructor() {
    super();
    this.classList.add('is-full');
    /** @type {PagedRows<AgentRow>} */
    this.rows = new PagedRows((offset, limit) => this.fetch(offset, limit), () => this.list.refresh());
    this.counts = h('div', { class: 'counts', role: 'group', 'aria-label': 'States' });
    this.top = h('div', { class: 'fleet-top' });
    this.state = h('div', { class: 'list-state' });
    /** @type {Fleet | null} */
    this.fleet = null;
    this.search = h('input', {
      type: 'search', 'aria-label': 'Filter agents', placeholder: 'Name, problem, version…', 'data-search': true,
      maxlength: 200,
      oninput: later(() => this.change({ filter: this.search.value ?? '' }), 200),
    });
    this.by = h('span');
    this.choices = h('div', { class: 'choices' }, this.by);
    this.list = new VirtualList({
      label: 'Agents', source: this.rows, key: (row) => row.agent, kind: (row) => `condition-${row.condition}`,
      open: (row) => { location.hash = viewHash('agent', row.agent); },
      sorted: (sort) => this.sort(sort),
      columns: [
        partsColumn('agent', 'Agent', ({ agent }) => [h('a',
          { href: viewHash('agent', agent), tabindex: '-1', title: agent }, agent)], 'name'),
        partsColumn('state', 'State', (row) => [conditionBadge(row.condition)], 'attention'),
        timeColumn('since', 'Since', (row) => row.since, 'since', (row) => (row.sinceAtLeast ? 'over ' : '')),
        timeColumn('heard', 'Last heard', (row) => row.heard, 'heard'),
        textColumn('version', 'Version', (row) => row.version, 'version'),
        textColumn('map', 'Maps', (row) => row.map, 'map'),
        sparkColumn('failures', 'Failures, 1 h', (row) => row.failures, 'failures'),
        textColumn('problem', 'Problem', (row) => row.problem),
      ],
    });
    this.append(this.heading('Fleet', this.counts), this.notice, this.top,
      h('div', { class: 'filters' }, h('label', { class: 'search' }, icon('search'), this.search), this.choices),
      h('div', { class: 'list-place' }, this.list, this.state));
    this.onLive('fleet', () => {
      this.rows.refresh();
      this.list.refresh();
    });
    this.onLive('opened', () => this.again());
    this.freshness = live.freshness;
    for (const type of ['status', 'link']) this.onLive(type, () => this.refreshTop());
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    const { filter = '', sort = 'attention', desc = '', by = '' } = view.options;
    fill(this.by, choice('Together', [['', 'By problem'], ['version', 'By version'], ['group', 'By group']], by,
      (value) => this.change({ by: value })));
    if (this.fleet) this.drawTop(this.fleet);
    if (this.search && document.activeElement !== this.search) this.search.value = filter;
    this.list.drawHead(sort, desc === '1');
    if (this.isAsked(OPTIONS.map((option) => view.options[option] ?? '').join('\n'))) return;
    if (this.list) this.list.scrollTop = 0;
    this.again();
  }

  refreshTop() {
    if (live.freshness === this.freshness) return;
    this.freshness = live.freshness;
    if (this.fleet) this.drawTop(this.fleet);
  }

  again() {
    if (!this.fleet) fill(this.state, loading('Asking for the agents…'));
    this.rows.reset();
    this.list.refresh();
  }

  /** @param {number} offset @param {number} limit */
  async fetch(offset, limit) {
    const options = Object.fromEntries(OPTIONS.map((option) => [option, this.view.options[option]]));
    try {
      const fleet = /** @type {Fleet} */ (await get('/api/fleet', { ...options, offset, limit }, this.end.signal));
      this.draw(fleet);
      return { rows: fleet.rows, count: fleet.matched };
    } catch (error) {
      if (!this.end.signal.aborted) {
        const line = errorState(error, () => this.again());
        if (this.rows.count) fill(this.notice, noticeLine('warn',
          `This could not be refreshed: ${messageOf(error)}`));
        else fill(this.state, line);
      }
      throw error;
    }
  }

  /** @param {string} sort */
  sort(sort) {
    const { sort: old = 'attention', desc } = this.view.options;
    // Most people want the newest and the most first.
    const isDescending = sort === old ? desc !== '1' : ['heard', 'failures'].includes(sort);
    this.change({ sort: sort === 'attention' && !isDescending ? '' : sort, desc: isDescending ? '1' : '' });
  }

  /** @param {Fleet} fleet */
  draw(fleet) {
    const { state = '', version = '', group = '', problem = '' } = this.view.options;
    fill(this.notice);
    this.dated(fleet.asOf);
    this.fleet = fleet;
    this.drawTop(fleet);
    const states = state.split(',').filter(Boolean);
    fill(this.counts, .../** @type {Condition[]} */ (Object.keys(CONDITIONS)).filter((condition) =>
        fleet.counts[condition] || states.includes(condition))
        .map((condition) => {
          const isOn = states.includes(condition);
          const others = isOn ? states.filter((other) => other !== condition) : [...states, condition];
          return h('button', { type: 'button', class: 'chip', 'aria-pressed': String(isOn),
            onclick: () => this.change({ state: others.join(',') }) },
            conditionBadge(condition), h('b', null, count(fleet.counts[condition] ?? 0)));
    }));
    const matched = fleet.matched === fleet.total ? plural(fleet.total, 'agent')
      : `${count(fleet.matched)} of ${plural(fleet.total, 'agent')}`;
    if (!this.choices.contains(document.activeElement)) {
      fill(this.choices, this.by,
        fleet.versions.length > 1 || version ? choice('Version', [['', 'All versions'], ...fleet.versions.map((one) =>
            /** @type {[string, string]} */ ([one.version, `${one.version} · ${count(one.count)}${one.problems ? ` · ${plural(one.problems, 'problem')}` : ''}`]))], version, (value) => this.change({ version: value })) : null,
        fleet.groups.length || group ? choice('Group', [['', 'All groups'], ...fleet.groups.map((one) =>
            /** @type {[string, string]} */ ([one.group, `@${one.group} · ${count(one.count)}`]))], group, (value) => this.change({ group: value })) : null,
        OPTIONS.slice(0, 5).some((option) => this.view.options[option])
          ? h('button', { type: 'button', class: 'quiet',
            onclick: () => this.change({ filter: '', state: '', group: '', version: '', problem: '' }) },
            icon('close'), 'No filter') : null,
        h('span', { class: 'matched', role: 'status' }, matched));
    } else {
      const line = this.choices.querySelector('.matched');
      if (line) line.textContent = matched;
    }
    fill(this.state, fleet.matched ? null
        : fleet.total ? emptyState('search', 'No agent fits', problem ? 'The problem may be gone.' : null)
        : fleet.complete ? emptyState('fleet', 'No agent has been heard of at this broker',
          h('p', null, 'Start one: ', code('waypost agent --agent k1')))
        : emptyState('wait', 'The states that the broker keeps are coming in…'));
  }

  /** @param {string} by @param {{ name: string, agents: number, problems: number }} part @param {number} total */
  partCard(by, { name, agents, problems }, total) {
    const isOn = this.view.options[by] === name;
    const bar = h('span');
    bar.style.width = `${(agents / Math.max(1, total)) * 100}%`;
    return h('div', { role: 'listitem' }, h('button', {
      type: 'button', class: `problem-card ${problems ? 'condition-failing' : ''}`, 'aria-pressed': String(isOn),
      onclick: () => this.change({ [by]: isOn ? '' : name }),
    }, h('span', { class: 'problem-head' }, h('b', null, by === 'group' ? `@${name}` : name), plural(agents, 'agent'),
      problems ? badge('bad', plural(problems, 'problem')) : null), h('span', { class: 'version-bar' }, bar)));
  }

  // What is wrong, the same thing of many agents as one.
  /** @param {Fleet} fleet */
  drawTop(fleet) {
    const top = this.top;
    if (top.contains(document.activeElement) && fleet.problems.length && top.childElementCount > 1) return;
    const { problem = '', by = '' } = this.view.options;
    if (by) {
      const parts = by === 'version' ? fleet.versions.map(({ version, count: agents, problems }) => ({ name: version,
        agents, problems }))
        : fleet.groups.map(({ group, count: agents }) => ({ name: group, agents, problems: 0 }));
      fill(top, h('div', { class: 'versions', role: 'list', 'aria-label': by === 'version' ? 'Versions' : 'Groups' },
        parts.slice(0, 40).map((part) => this.partCard(by, part, fleet.total))));
      return;
    }
    const comingIn = fleet.complete ? null : h('p', { class: 'calm' },
      badge('plain', 'The states that the broker keeps are still coming in.', 'wait'));
    if (!fleet.problems.length) {
      const parked = (fleet.counts.stopped ?? 0) + (fleet.counts.unknown ?? 0);
      // Of what is old nobody can say that it is well now.
      const isFresh = live.freshness === 'fresh';
      fill(top, comingIn, fleet.total && fleet.complete
          ? h('p', { class: isFresh ? 'calm is-well' : 'calm' }, icon(isFresh ? 'ok' : 'wait'), h('span', null,
            h('b', null, isFresh ? 'Nothing is wrong. ' : 'Nothing was wrong when the console last heard. '),
            `${plural(fleet.counts.healthy ?? 0, 'agent', 'agents')} healthy`,
            parked ? `, ${count(parked)} shut down or not known` : '', ', ',
            since(isFresh ? fleet.asOf : Math.min(fleet.asOf, live.status?.asOf ?? fleet.asOf), 'as of '), '.'))
          : null);
      return;
    }
    fill(top, comingIn, h('div', { class: 'problems', role: 'list', 'aria-label': 'Problems' },
      fleet.problems.map((one) => {
        const isOn = one.text === problem;
        const names = one.agents.slice(0, 3).join(', ') + (one.count > 3 ? ', …' : '');
        return h('div', { role: 'listitem' }, h('button', {
          type: 'button', class: `problem-card condition-${one.condition}`, 'aria-pressed': String(isOn), title: one.text,
          onclick: () => this.change({ problem: isOn ? '' : one.text }),
        }, h('span', { class: 'problem-head' }, conditionBadge(one.condition),
          h('b', null, plural(one.count, 'agent')), since(one.since, 'since ')),
          h('span', { class: 'problem-text' }, one.text || CONDITIONS[one.condition][1]),
          h('span', { class: 'problem-agents' }, names)));
    })));
  }
}

customElements.define('page-fleet', FleetPage);
