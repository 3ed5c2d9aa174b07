// What fails, since when, and with which map?
import { get } from './api.js';
import { partsColumn, sparkColumn, textColumn, timeColumn } from './columns.js';
import { agentLinks, button, choice, emptyState, factList, fill, h, link, since } from './dom.js';
import { Page } from './page.js';
import { check, quoted } from './query.js';
import { QueryLine } from './query-line.js';
import { SparkLine } from './spark-line.js';
import { count, plural } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').FailureGroup} FailureGroup */

/** @param {FailureGroup} group */
const keyOf = (group) => [group.code, group.name, group.subject, group.map?.layer, group.map?.rev,
  group.detail].join(' ');

export class FailuresPage extends Page {
  constructor() {
    super();
    this.classList.add('is-full');
    /** @type {FailureGroup[]} */
    this.groups = [];
    const page = this;
    this.line = new QueryLine();
    this.line.addEventListener('query', (event) =>
        this.change({ q: /** @type {CustomEvent} */ (event).detail.text.trim() }));
    this.spanPlace = h('span');
    this.facts = h('span', { class: 'hint', role: 'status' });
    this.chart = new SparkLine();
    this.chartFoot = h('div', { class: 'chart-foot hint' });
    this.chartPlace = h('div', { class: 'chart' }, this.chart, this.chartFoot);
    this.state = h('div', { class: 'list-state' });
    this.detail = h('aside', { class: 'side-panel', 'aria-label': 'The failure', hidden: true });
    this.list = new VirtualList({
      label: 'Failures', source: { get count() { return page.groups?.length ?? 0; },
        get: (index) => page.groups?.[index] }, key: keyOf, open: (group) => this.open(group),
      columns: [
        partsColumn('code', 'Code', ({ code, name }) => [h('b', null, code ?? ''), ' ', name]),
        textColumn('subject', 'URL or subject', (group) => group.subject),
        textColumn('map', 'Map', ({ map }) => (map ? `${map.layer} rev ${map.rev}` : '')),
        textColumn('count', 'Times', (group) => count(group.count)),
        sparkColumn('failures', 'Over time', (group) => group.minutes),
        timeColumn('last', 'Last', (group) => group.last),
        textColumn('agents', 'Agents', ({ agents, agentCount, moreAgents }) =>
            agents.slice(0, 3).join(', ') + (agentCount > 3 ? ` +${agentCount - 3}${moreAgents ? ' or more' : ''}` : '')),
        textColumn('detail', 'Detail', (group) => group.detail),
      ],
    });
    this.append(this.heading('Failures', this.spanPlace), this.notice,
      h('div', { class: 'filters' }, this.line, this.facts), this.chartPlace,
      h('div', { class: 'list-place' }, this.list, this.state), this.detail);
    for (const type of ['failures', 'opened']) this.onLive(type, () => this.ask());
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    const { q = '', minutes = '60' } = view.options;
    if (this.line && document.activeElement !== this.line.input) this.line.value = q;
    fill(this.spanPlace, choice('Time', [['15', 'Last 15 min'], ['60', 'Last hour'], ['360', 'Last 6 hours'],
      ['1440', 'Last day'], ['10080', 'Last week']], minutes, (value) => this.change({ minutes: value })));
    if (!this.isAsked(`${q}\n${minutes}`)) this.ask();
  }

  ask() {
    const { q = '', minutes = '60' } = this.view.options;
    if (!check(q).query) return;
    void this.load(`failures ${minutes} ${q}`, (signal) => get('/api/failures', { log: q, minutes }, signal),
      (found) => {
        this.groups = found.groups;
        this.dated(found.asOf);
        const agents = new Set(found.groups.flatMap((/** @type {FailureGroup} */ group) => group.agents)).size;
        fill(this.facts, found.total
            ? [`${plural(found.total, 'failure')}, ${plural(found.groups.length, 'group')}, at least ${plural(agents, 'agent')}, `,
              since(found.since, 'since ')] : '');
        this.chartPlace.hidden = !found.total;
        this.chart.show(found.minutes, 'failure', { width: Math.max(200, this.chartPlace.clientWidth), height: 44 });
        const most = Math.max(0, ...found.minutes);
        const unseen = found.minutes.filter((/** @type {number | null} */ value) => value === null).length;
        fill(this.chartFoot, h('span', null, `${found.minutes.length} min ago`),
          h('span', null, `at most ${count(most)} a minute${unseen ? `; ${unseen} min were not seen` : ''}`), h('span', null, 'now'));
        this.list.refresh();
        fill(this.state, found.groups.length ? null
            : emptyState('ok', q ? 'No failure fits this query' : 'Nothing has failed',
              h('p', null, 'Since ', since(found.since), '; ', since(found.asOf, 'as of '), '.')));
      }, this.state);
  }

  /** @param {FailureGroup} group */
  open(group) {
    const detail = this.detail;
    const code = group.code === null ? '' : `code:${group.code}`;
    const at = (/** @type {number} */ time) => viewHash('log', '',
      { at: time, q: group.agentCount === 1 && group.agents[0] ? `agent=:${quoted(group.agents[0])}` : '' });
    fill(detail, h('div', { class: 'detail-head' }, h('h2', null, `${group.code ?? ''} ${group.name}`),
      link(at(group.last), 'The log at the last one'), link(at(group.first), 'at the first'),
      link(viewHash('log', '', { q: `is:failure ${code}`.trim() }), 'all of this code'),
      button('Close', () => this.close(), { icon: 'close', class: 'quiet' })),
      h('pre', { class: 'message-text', tabindex: '0' }, group.detail),
      group.advice ? h('p', { class: 'advice' }, h('b', null, 'What to do: '), group.advice) : null,
      factList([
        ['Subject', group.subject, ' ', group.url ? link(viewHash('where', '',
          { url: group.subject, agent: group.agents[0] }), 'where does it go?') : null],
        ['Map', group.map ? `${group.map.layer} rev ${group.map.rev}` : 'none was in force, or it is not known'],
        ['Times', count(group.count), ', ', since(group.first, 'first '), ', ', since(group.last, 'last ')],
        ['Agents', ...agentLinks(group.agents, 20, group.agentCount), group.moreAgents ? ' or more' : ''],
    ]));
    detail.hidden = false;
  }

  close() {
    if (this.detail.hidden) return false;
    this.detail.hidden = true;
    return true;
  }
}

customElements.define('page-failures', FailuresPage);
