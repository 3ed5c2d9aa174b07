// Who is in trouble?
import { get } from './api.js';
import { partsColumn, sparkColumn, textColumn, timeColumn } from './columns.js';
import {
  CONDITIONS, button, choice, code, conditionBadge, emptyState, errorState, fill, h, loading, messageOf, noticeLine,
  renew,
} from './dom.js';
import { fleetTop } from './fleet-top.js';
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

const FILTERS = ['filter', 'state', 'group', 'version', 'problem'];
const OPTIONS = [...FILTERS, 'sort', 'desc'];

/** @param {Fleet['versions'][0]} one @returns {[string, string]} */
const versionOption = ({ version, count: agents, problems }) =>
  [version, `${version} · ${count(agents)}${problems ? ` · ${plural(problems, 'problem')}` : ''}`];
/** @param {Fleet['groups'][0]} one @returns {[string, string]} */
const groupOption = ({ group, count: agents }) => [group, `@${group} · ${count(agents)}`];

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
    this.choices = h('span', { class: 'choices-more' });
    this.matched = h('span', { class: 'matched', role: 'status' });
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
      h('div', { class: 'filters' }, h('label', { class: 'search' }, icon('search'), this.search),
        h('div', { class: 'choices' }, this.by, this.choices, this.matched)),
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
    renew(this.counts, JSON.stringify([fleet.counts, state]),
      () => this.chips(fleet, state.split(',').filter(Boolean)));
    const matched = fleet.matched === fleet.total ? plural(fleet.total, 'agent')
      : `${count(fleet.matched)} of ${plural(fleet.total, 'agent')}`;
    if (this.matched.textContent !== matched) this.matched.textContent = matched;
    const isFiltered = FILTERS.some((option) => this.view.options[option]);
    renew(this.choices, JSON.stringify([fleet.versions, fleet.groups, version, group, isFiltered]), () => [
      fleet.versions.length > 1 || version ? choice('Version',
        [['', 'All versions'], ...fleet.versions.map(versionOption)], version,
        (value) => this.change({ version: value })) : null,
      fleet.groups.length || group ? choice('Group', [['', 'All groups'], ...fleet.groups.map(groupOption)], group,
        (value) => this.change({ group: value })) : null,
      isFiltered ? button('No filter', () => this.change(Object.fromEntries(FILTERS.map((option) => [option, '']))),
        { icon: 'close', class: 'quiet' }) : null]);
    fill(this.state, fleet.matched ? null
        : fleet.total ? emptyState('search', 'No agent fits', problem ? 'The problem may be gone.' : null)
        : fleet.complete ? emptyState('fleet', 'No agent has been heard of at this broker',
          h('p', null, 'Start one: ', code('waypost agent --agent k1')))
        : fleet.gap ? null : emptyState('wait', 'The states that the broker keeps are coming in…'));
  }

  // The states that there are, each of which is a filter.
  /** @param {Fleet} fleet @param {string[]} states those that are chosen */
  chips(fleet, states) {
    const all = /** @type {Condition[]} */ (Object.keys(CONDITIONS));
    return all.filter((condition) => fleet.counts[condition] || states.includes(condition)).map((condition) => {
      const isOn = states.includes(condition);
      const others = isOn ? states.filter((other) => other !== condition) : [...states, condition];
      return h('button', {
        type: 'button', class: 'chip', 'aria-pressed': String(isOn),
        onclick: () => this.change({ state: others.join(',') }),
      }, conditionBadge(condition), h('b', null, count(fleet.counts[condition] ?? 0)));
    });
  }

  /** @param {Fleet} fleet */
  drawTop(fleet) {
    const { problem = '', by = '', version = '', group = '' } = this.view.options;
    const { problems, versions, groups, complete, gap, counts } = fleet;
    const key = JSON.stringify([problem, by, version, group, live.freshness, complete, gap, counts, problems,
      by && [versions, groups]]);
    renew(this.top, key, () => fleetTop(fleet, this.view.options, (options) => this.change(options)));
  }
}

customElements.define('page-fleet', FleetPage);
