// What happened to this agent, and how is it?
import { askCall, askForget, askLevel, askOpen } from './actions.js';
import { agentInput } from './agent-input.js';
import { agentPath, get, post } from './api.js';
import { CONDITIONS, badge, button, conditionBadge, emptyState, fill, h, link, say, since, table } from './dom.js';
import { timeline } from './group.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { LogView } from './log-view.js';
import { layersView } from './map-view.js';
import { Page, go } from './page.js';
import { check } from './query.js';
import { RouteTree } from './route-tree.js';
import { SparkLine } from './spark-line.js';
import { clock, count, duration, exact, left, plural } from './time.js';
import { viewHash } from './view.js';
import { VirtualList } from './virtual-list.js';

/** @typedef {import('./types.js').Agent} Agent */
/** @typedef {import('./types.js').Event} Event */
/** @typedef {import('./group.js').TimelineItem} TimelineItem */

/** @type {[string, string][]} */
const TABS = [['', 'What happened'], ['log', 'Log'], ['health', 'Health'], ['maps', 'Maps'], ['routes', 'Routes']];
/** @type {Record<string, string>} */
const KIND_ICONS = { state: 'agent', health: 'console', map: 'maps', failure: 'failures', command: 'commands', log: 'log' };

export class AgentPage extends Page {
  constructor() {
    super();
    this.head = h('div', { class: 'agent-head' });
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'About the agent', onkeydown: (/** @type {KeyboardEvent} */ event) => this.tabKey(event) });
    this.body = h('div', { class: 'tab-body', role: 'tabpanel', id: 'agent-tab', tabindex: '-1' });
    this.heading1 = h('h1', { tabindex: '-1' });
    this.actions = h('div', { class: 'tools' });
    this.append(h('header', { class: 'page-head' }, link(viewHash('fleet'), 'Fleet'), h('span', { 'aria-hidden': 'true' }, '/'), this.heading1, this.when, this.actions),
      this.notice, this.head, this.tabs, this.body);
    this.shownName = '';
    this.shownTab = '';
    /** @type {Agent | null} */
    this.agent = null;
    /** @type {LogView | null} */
    this.log = null;
    this.logBar = h('div', { class: 'log-bar' });
    /** @type {Event[] | null} those of the time line, while it is shown */
    this.events = null;
    /** @type {TimelineItem[]} */
    this.items = [];
    this.hasOlder = true;
    this.isLoadingOlder = false;
    this.listState = h('div', { class: 'list-state' });
    this.watching = h('p', { class: 'hint' });
    this.onLive('agent', () => this.again());
    this.onLive('opened', () => this.again());
    this.onLive('status', () => this.drawActions());
    this.timer = setInterval(() => this.drawLevelTime(), 1_000);
    this.end.signal.addEventListener('abort', () => clearInterval(this.timer));
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    const old = this.view;
    super.show(view);
    const { tab = '' } = view.options;
    if (!view.name) {
      this.pick();
      return;
    }
    const isOther = view.name !== this.shownName;
    if (isOther) {
      this.agent = null;
      this.shownName = view.name;
      fill(this.heading1, view.name);
      fill(this.actions);
      delete this.head.dataset.drawn;
      void this.again();
    }
    if (isOther || tab !== this.shownTab) {
      this.shownTab = tab;
      this.drawTabs(tab);
      this.drawTab(tab);
    } else if (tab === 'log' && old.options !== view.options) this.showLog();
  }

  streams() {
    const { tab = '', q = '' } = this.view.options;
    return { agent: this.view.name, log: tab === 'log' && check(q).query ? LogView.sent(this.view.name, q) : null };
  }

  pause() {
    return this.log?.pause() ?? false;
  }

  close() {
    return this.log?.close() ?? false;
  }

  pick() {
    const { element } = agentInput({ label: 'Agent', value: '', placeholder: 'Name of an agent', changed: (name) => name && go(viewHash('agent', name)) });
    fill(this.heading1, 'Agent');
    fill(this.head, emptyState('agent', 'Which agent?', element));
    fill(this.body);
  }

  again() {
    const { name } = this.view;
    if (!name) return;
    void this.load('agent', (signal) => get(agentPath(name), {}, signal), (agent) => this.draw(agent), this.head);
    if (this.shownTab === '' && this.events) this.loadTimeline();
  }

  /** @param {Agent} agent */
  draw(agent) {
    const head = this.head;
    this.agent = agent;
    this.dated(agent.asOf);
    this.drawActions();
    this.tabs.hidden = this.body.hidden = !agent.found;
    if (!agent.found) {
      fill(head, emptyState('unknown', `There is no agent ${this.view.name}`, agent.nearest.length
        ? h('p', null, 'Did you mean ', agent.nearest.map((name, index) => [index ? ', ' : '', link(viewHash('agent', name), name)]).flat(), '?') : null));
      return;
    }
    const { row, health, refused, log } = agent;
    const isGone = row.condition === 'lost' || row.condition === 'stopped';
    const spark = new SparkLine();
    spark.show(row.failures, 'failure', { width: 120, height: 26 });
    fill(head,
      row.problem || refused || agent.waiting ? h('div', { class: `problem-line condition-${row.condition}` }, icon('warn'), h('div', null,
        row.problem ? h('p', null, row.problem) : null,
        refused && !row.problem.includes(refused.name) ? h('p', null, `Refused ${refused.layer}${refused.revision === null ? '' : ` rev ${refused.revision}`}: ${refused.code} ${refused.name}. ${refused.detail}`) : null,
        agent.waiting ? h('p', null, `Waiting: ${agent.waiting}`) : null)) : null,
      h('dl', { class: 'tiles' },
        tile('State', conditionBadge(row.condition), h('span', null, row.state === CONDITIONS[row.condition][1] ? '' : `${row.state}, `, since(row.since, row.sinceAtLeast ? 'for over ' : 'since '))),
        tile('Health', health ? badge({ green: 'ok', red: 'bad' }[health.status] ?? 'warn', health.status) : badge('plain', 'not known', 'unknown'),
          health ? since(health.asOf, 'as of ') : null),
        tile('Last heard', since(row.heard)),
        tile('Version', row.version, health ? `MQTT ${health.mqtt}${isGone ? '' : `, up ${duration(health.uptime)}`}` : null),
        tile('Maps', row.map, agent.maps.some(({ inactive }) => inactive) ? `${agent.maps.reduce((sum, { inactive }) => sum + inactive, 0)} entries not in force` : null),
        tile('Groups', row.groups.length ? row.groups.map((group) => `@${group}`).join(' ') : 'none'),
        tile('Failures, 1 h', spark),
        log ? tile('Log level', badge('warn', `${log.level}${log.tag ? ` of ${log.tag}` : ''}`, 'log'), h('span', { class: 'level-left', title: exact(log.until) })) : null));
    this.drawLevelTime();
    if (this.shownTab === 'health') this.drawHealth();
    this.drawLogBar();
  }

  drawLevelTime() {
    const until = this.agent?.log?.until;
    for (const element of this.querySelectorAll('.level-left')) {
      element.textContent = until === undefined ? '' : until > live.now() ? `reverts in ${left(until - live.now())}` : 'has reverted';
    }
  }

  drawActions() {
    const place = this.actions;
    const wanted = live.canCommand && this.agent?.found === true;
    if (wanted === (place.childElementCount > 0)) return;
    const { name } = this.view;
    const tried = (/** @type {() => Promise<void>} */ work) => () => void work().catch((error) => say(error.message, 'bad'));
    fill(place, ...(wanted ? [
      button('Ping', tried(async () => {
        const { reply } = await post(agentPath(name, '/ping'), {});
        say(reply ? `${name} answered ${reply.status} in ${reply.ms} ms.` : `${name} did not answer.`, reply?.status === 'ok' ? 'ok' : 'bad');
      })),
      button('Open…', tried(() => askOpen(name))), button('Call…', tried(() => askCall(name))),
      button('Forget…', () => askForget(name, () => undefined), { class: 'danger-quiet' })] : []));
  }

  /** @param {string} tab */
  drawTabs(tab) {
    fill(this.tabs, ...TABS.map(([name, title]) => h('button', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'aria-selected': String(name === tab), 'aria-controls': 'agent-tab', tabindex: name === tab ? '0' : '-1',
      onclick: () => this.change({ tab: name, q: null, at: null }),
    }, title)));
    this.body.setAttribute('aria-labelledby', `tab-${tab}`);
  }

  /** @param {KeyboardEvent} event */
  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = TABS.findIndex(([name]) => name === this.shownTab);
    this.change({ tab: TABS[(index + step + TABS.length) % TABS.length][0] });
    const chosen = this.tabs.querySelector('[aria-selected=true]');
    if (chosen instanceof HTMLElement) chosen.focus();
  }

  /** @param {string} tab */
  drawTab(tab) {
    const body = this.body;
    this.list = null;
    this.log = null;
    this.events = null;
    this.classList.toggle('is-full', tab === '' || tab === 'log');
    body.className = `tab-body tab-${tab || 'time'}`;
    delete body.dataset.drawn;
    fill(body);
    const { name } = this.view;
    if (tab === '') this.openTimeline(body);
    if (tab === 'log') this.openLog(body);
    if (tab === 'health') this.drawHealth();
    if (tab === 'maps') {
      void this.load('tab', (signal) => get(agentPath(name, '/maps'), {}, signal), (maps) => fill(body, layersView(maps, name)), body);
    }
    if (tab === 'routes') {
      void this.load('tab', (signal) => get(agentPath(name, '/routes'), {}, signal), (routes) => {
        const tree = new RouteTree();
        fill(body, tree, servicesView(routes.services));
        tree.show({ ...routes, open: (path) => go(viewHash('where', '', { url: path, agent: name })) });
      }, body);
    }
  }

  /** @param {HTMLElement} body */
  openTimeline(body) {
    this.items = [];
    this.events = [];
    this.hasOlder = true;
    const page = this;
    const source = {
      get count() { return page.items.length; },
      get: (/** @type {number} */ index) => page.items[index],
      need: (/** @type {number} */ _, /** @type {number} */ last) => { if (last >= page.items.length && page.items.length) page.loadTimeline(true); },
    };
    this.list = new VirtualList({
      label: 'What happened', source, key: (item) => ('day' in item ? item.day : `${item.event.t} ${item.event.kind} ${item.event.title}`),
      whole: (item) => ('day' in item ? h('span', { class: 'day' }, item.day) : null),
      kind: (item) => ('day' in item ? 'is-day' : `tone-row-${item.event.tone}`),
      open: (item) => { if ('event' in item) go(this.placeOf(item.event)); },
      columns: [
        { name: 'time', label: 'Time', draw: (cell, { event }) => { cell.textContent = clock(event.t); cell.title = exact(event.t); } },
        { name: 'kind', label: 'What', draw: (cell, { event }) => fill(cell, h('span', { class: `badge tone-${event.tone}` }, icon(KIND_ICONS[event.kind] ?? 'plain'), event.kind)) },
        { name: 'title', label: 'Event', draw: (cell, { event }) => { fill(cell, h('b', null, event.title), event.count > 1 ? h('span', { class: 'times' }, `×${count(event.count)}`) : null); cell.title = event.title; } },
        { name: 'detail', label: 'Detail', draw: (cell, { event }) => { cell.textContent = cell.title = event.detail; } },
      ],
    });
    delete this.listState.dataset.drawn;
    fill(body, h('div', { class: 'list-place' }, this.list, this.listState), this.watching);
    this.loadTimeline();
  }

  /** @param {boolean} [isOlder] */
  loadTimeline(isOlder = false) {
    if (!this.events || (isOlder && (!this.hasOlder || this.isLoadingOlder))) return;
    const { name } = this.view;
    const oldest = this.events.length ? Math.min(...this.events.map(({ t }) => t)) : null;
    this.isLoadingOlder = isOlder;
    void this.load(isOlder ? 'older' : 'timeline', (signal) => get(agentPath(name, '/timeline'), { limit: 100, before: isOlder ? oldest : null }, signal), (answer) => {
      if (!this.events) return;
      const events = /** @type {Event[]} */ (answer.events);
      if (isOlder || !this.events.length) this.hasOlder = events.length >= 100;
      // What was loaded of older times stays below what is new.
      const edge = events.length ? Math.min(...events.map(({ t }) => t)) : Infinity;
      this.events = isOlder ? [...this.events, ...events] : [...events, ...this.events.filter(({ t }) => t < edge)];
      this.items = timeline(this.events);
      this.list?.refresh();
      fill(this.watching, 'Watched ', since(answer.since, 'since '), ', when the console began; what was before is only what the agent keeps.');
      if (!this.items.length) fill(this.listState, emptyState('wait', 'Nothing has happened since the console began to watch'));
      else fill(this.listState);
    }, isOlder ? undefined : this.listState).finally(() => { if (isOlder) this.isLoadingOlder = false; });
  }

  // Where more of an event is.
  /** @param {Event} event */
  placeOf({ ref, t, url, kind }) {
    const { name } = this.view;
    if (kind === 'command' && ref) return viewHash('commands', ref, { agent: name });
    if (kind === 'map') return viewHash('agent', name, { tab: 'maps' });
    if (kind === 'health') return viewHash('agent', name, { tab: 'health' });
    return url && kind !== 'failure' ? viewHash('where', '', { url, agent: name }) : viewHash('agent', name, { tab: 'log', at: t });
  }

  /** @param {HTMLElement} body */
  openLog(body) {
    this.log = new LogView();
    this.log.changed = (options) => this.change(options);
    fill(body, this.logBar, this.log);
    this.list = this.log.list ?? null;
    this.drawLogBar();
    this.showLog();
  }

  showLog() {
    const { q = '', at = '' } = this.view.options;
    this.log?.show({ agent: this.view.name, text: q, at: /^\d+$/.test(at) ? Number(at) : null });
  }

  drawLogBar() {
    if (this.shownTab !== 'log') return;
    const log = this.agent?.log;
    fill(this.logBar, log
      ? h('span', null, 'It publishes level ', h('b', null, `${log.level}${log.tag ? ` of ${log.tag}` : ''}`), log.from ? ` (set by ${log.from})` : '', ', ', h('span', { class: 'level-left', title: exact(log.until) }))
      : h('span', null, 'It publishes its usual level.'),
    live.canCommand ? button('Change the level…', () => askLevel(this.view.name, () => this.again())) : null);
    this.drawLevelTime();
  }

  drawHealth() {
    const body = this.body;
    const { agent } = this;
    if (!agent) return;
    const { health, row } = agent;
    if (!health) {
      fill(body, emptyState('unknown', 'It has told nothing of its health'));
      return;
    }
    const isGone = row.condition === 'lost' || row.condition === 'stopped';
    const order = { failed: 0, unknown: 1, ok: 2 };
    const rank = (/** @type {string} */ state) => order[/** @type {'ok'} */ (state)] ?? 1;
    const checks = [...health.checks].sort((one, other) => rank(one.state) - rank(other.state));
    fill(body, h('p', { class: isGone ? 'notice-line' : 'hint' }, isGone ? icon('warn') : null, since(health.asOf, 'As of '), isGone ? `, before it was ${row.condition === 'lost' ? 'lost' : 'shut down'}: it may be otherwise now.` : ', when it last told its health.'),
      table('Checks', ['Check', 'State', 'Detail', 'What to do'], checks.map(({ name, state, detail, advice, since: from }) => [
        name, badge({ ok: 'ok', failed: 'bad' }[state] ?? 'warn', state, { ok: 'ok', failed: 'bad' }[state] ?? 'unknown'),
        [detail, state !== 'ok' && from ? [' · ', since(from, 'since ')] : []].flat(), advice])),
      h('details', { class: 'limits' }, h('summary', null, plural(health.limits.length, 'limit')),
        table('Limits', ['Limit', 'Value'], health.limits.map(({ name, text }) => [name, text]))));
  }
}

/** @param {string} name @param {...import('./dom.js').Child} parts */
function tile(name, ...parts) {
  return h('div', { class: 'tile' }, h('dt', null, name), parts.map((part) => (part ? h('dd', null, part) : null)));
}

/** @param {import('./types.js').Service[]} services */
function servicesView(services) {
  if (!services.length) return null;
  return h('section', null, h('h2', null, plural(services.length, 'service')), table('Services', ['Method', 'Arguments', 'Result', 'What it does'],
    services.flatMap(({ name, methods }) => methods.map((method) => [h('code', null, `${name}.${method.name}`),
      method.parameters.map(({ label, type, optional }) => `${label}: ${type}${optional ? '?' : ''}`).join(', '), method.result, method.summary]))));
}

customElements.define('page-agent', AgentPage);
