// What happened to this agent, and how is it?
import { askCall, askForget, askLevel, askOpen } from './actions.js';
import { agentInput } from './agent-input.js';
import { agentPath, get, post } from './api.js';
import {
  CONDITIONS, agentLinks, badge, button, checkTable, code, conditionBadge, emptyState, fill, h, link, say,
  since, table, tileList,
} from './dom.js';
import { icon } from './icons.js';
import { live } from './live.js';
import { LogView } from './log-view.js';
import { layersView } from './map-view.js';
import { Page, go } from './page.js';
import { check } from './query.js';
import { RouteTree } from './route-tree.js';
import { SparkLine } from './spark-line.js';
import { duration, exact, left, plural } from './time.js';
import { viewHash } from './view.js';
import { TimeLine } from './time-line.js';

/** @typedef {import('./types.js').Agent} Agent */

/** @type {[string, string][]} */
const TABS = [['', 'What happened'], ['log', 'Log'], ['health', 'Health'], ['maps', 'Maps'], ['routes', 'Routes']];

export class AgentPage extends Page {
  constructor() {
    super();
    this.head = h('div', { class: 'agent-head' });
    this.tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'About the agent',
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.tabKey(event) });
    this.body = h('div', { class: 'tab-body', role: 'tabpanel', id: 'agent-tab', tabindex: '-1' });
    this.heading1 = h('h1', { tabindex: '-1' });
    this.actions = h('div', { class: 'tools' });
    this.append(h('header', { class: 'page-head' }, link(viewHash('fleet'), 'Fleet'),
      h('span', { 'aria-hidden': 'true' }, '/'), this.heading1, this.when, this.actions),
      this.notice, this.head, this.tabs, this.body);
    this.shownName = '';
    this.shownTab = '';
    /** @type {Agent | null} */
    this.agent = null;
    /** @type {LogView | null} */
    this.log = null;
    this.logBar = h('div', { class: 'log-bar' });
    /** @type {TimeLine | null} */
    this.timeLine = null;
    /** What the head shows, without its time. */
    this.shown = '';
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
      this.shown = '';
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
    const { element } = agentInput({ label: 'Agent', value: '', placeholder: 'Name of an agent',
      changed: (name) => name && go(viewHash('agent', name)) });
    this.tabs.hidden = true;
    fill(this.heading1, 'Agent');
    fill(this.head, emptyState('agent', 'Which agent?', element));
    fill(this.body);
  }

  again() {
    const { name } = this.view;
    if (!name) return;
    void this.load(`agent ${name}`, (signal) => get(agentPath(name), {}, signal), (agent) => this.draw(agent),
      this.head);
    this.timeLine?.refresh();
  }

  /** @param {Agent} agent */
  draw(agent) {
    const head = this.head;
    this.agent = agent;
    this.dated(agent.asOf);
    // Drawn again only when something changed, so that a text can be marked and copied.
    const shown = JSON.stringify({ ...agent, asOf: 0 });
    if (shown === this.shown) return;
    this.shown = shown;
    this.drawActions();
    this.tabs.hidden = this.body.hidden = !agent.found;
    if (!agent.found) {
      fill(head, emptyState('unknown', `There is no agent ${this.view.name}`, agent.nearest.length
          ? h('p', null, 'Did you mean ', agentLinks(agent.nearest), '?') : null));
      return;
    }
    const { row, health, refused, log, membership } = agent;
    const isGone = row.condition === 'lost' || row.condition === 'stopped';
    const spark = new SparkLine();
    spark.show(row.failures, 'failure', { width: 120, height: 26 });
    fill(head,
      row.problem || refused || agent.waiting || membership?.refused || membership?.waiting ? h('div', { class: `problem-line condition-${row.condition}` },
        icon('warn'), h('div', null,
          row.problem ? h('p', null, row.problem) : null,
          refused && !row.problem.includes(refused.name)
            ? h('p', null, refusalText(refused)) : null,
          membership?.refused ? h('p', null, 'Refused the newest document of its groups: '
            + `${membership.refused.code} ${membership.refused.name}. ${membership.refused.detail}`) : null,
          membership?.waiting ? h('p', null, `Not in force yet: ${groupsText(membership.waiting)}`) : null,
          agent.waiting ? h('p', null, `Waiting: ${agent.waiting}`) : null)) : null,
      tileList([
        ['State', conditionBadge(row.condition), h('span', null,
          row.state === CONDITIONS[row.condition][1] ? '' : `${row.state}, `,
          since(row.since, row.sinceAtLeast ? 'for over ' : 'since '))],
        ['Health', health ? badge(isGone ? 'plain' : { green: 'ok', red: 'bad' }[health.status] ?? 'warn', health.status)
            : badge('plain', 'not known', 'unknown'),
          health ? since(health.asOf, 'as of ') : null],
        ['Last heard', since(row.heard)],
        ['Version', row.version, health ? `MQTT ${health.mqtt}${isGone ? '' : `, up ${duration(health.uptime)}`}`
            : null],
        ['Maps', row.map, agent.maps.some(({ inactive }) => inactive)
            ? `${agent.maps.reduce((sum, { inactive }) => sum + (inactive ?? 0), 0)} entries not in force` : null],
        ['Groups', row.groups.length ? row.groups.map((group) => `@${group}`).join(' ') : 'none',
          membership?.revision ? groupsText(membership) : null],
        agent.client && (agent.client.app || agent.client.locale || agent.client.labels.length)
          ? ['Client', [agent.client.app, agent.client.locale].filter(Boolean).join(', ') || 'its labels',
            agent.client.labels.length ? agent.client.labels.join(' ') : null] : null,
        ['Failures, 1 h', spark],
        log ? ['Log level', badge('warn', `${log.level}${log.tag ? ` of ${log.tag}` : ''}`, 'log'),
          h('span', { class: 'level-left', title: exact(log.until) })] : null]));
    this.drawLevelTime();
    if (this.shownTab === 'health') this.drawHealth();
    this.drawLogBar();
  }

  drawLevelTime() {
    const until = this.agent?.log?.until;
    for (const element of this.querySelectorAll('.level-left')) {
      element.textContent = until === undefined ? '' : until > live.now() ? `reverts in ${left(until - live.now())}`
        : 'has reverted';
    }
  }

  drawActions() {
    const place = this.actions;
    const wanted = !this.agent?.found ? '' : live.canCommand ? 'all' : 'reading';
    if (wanted === place.dataset.shown) return;
    place.dataset.shown = wanted;
    const { name } = this.view;
    const tried = (/** @type {() => Promise<void>} */ work) => () =>
      void work().catch((error) => say(error.message, 'bad'));
    const collect = button('Collect', tried(() => this.collect(name)),
      { title: 'All that is known of this agent, in one archive' });
    fill(place, ...(wanted === 'all' ? [
      button('Ping', tried(async () => {
        const { reply } = await post(agentPath(name, '/ping'), {});
        say(reply ? `${name} answered ${reply.status} in ${reply.ms} ms.` : `${name} did not answer.`,
          reply?.status === 'ok' ? 'ok' : 'bad');
      })),
      button('Open…', tried(() => askOpen(name))), button('Call…', tried(() => askCall(name))),
      collect,
      button('Forget…', () => askForget(name, () => undefined), { class: 'danger-quiet' })]
      : wanted ? [collect] : []));
  }

  // Has the browser keep the archive as a file. It comes as JSON: what lets a request in stands in a header, which a link
  // does not send.
  /** @param {string} name */
  async collect(name) {
    say(`Collecting what is known of ${name}…`);
    const { file, data, missing } = await get(agentPath(name, '/bundle'));
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const address = URL.createObjectURL(new Blob([bytes], { type: 'application/gzip' }));
    h('a', { href: address, download: file }).click();
    // The browser has begun to keep it by then.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    say(missing.length ? `${file}, without ${missing.join(', ')}; its index.json says why.` : file, 'ok');
  }

  /** @param {string} tab */
  drawTabs(tab) {
    fill(this.tabs, ...TABS.map(([name, title]) => h('button', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'aria-selected': String(name === tab),
      'aria-controls': 'agent-tab', tabindex: name === tab ? '0' : '-1',
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
    this.drop('tab');
    this.list = null;
    this.log = null;
    this.timeLine = null;
    this.classList.toggle('is-full', tab === '' || tab === 'log');
    body.className = `tab-body tab-${tab || 'time'}`;
    delete body.dataset.drawn;
    fill(body);
    const { name } = this.view;
    if (tab === '') {
      /** @type {TimeLine} */
      const line = new TimeLine(this, name);
      this.timeLine = line;
      this.list = line.list;
      fill(body, line);
      line.refresh();
    }
    if (tab === 'log') this.openLog(body);
    if (tab === 'health') this.drawHealth();
    if (tab === 'maps') {
      void this.load(`tab maps ${name}`, (signal) => get(agentPath(name, '/maps'), {}, signal),
        (maps) => {
          fill(body, layersView(maps, name));
          this.list = /** @type {import('./virtual-list.js').VirtualList | null} */ (body.querySelector('virtual-list'));
        }, body);
    }
    if (tab === 'routes') {
      void this.load(`tab routes ${name}`, (signal) => get(agentPath(name, '/routes'), {}, signal), (routes) => {
        const tree = new RouteTree();
        fill(body, tree, servicesView(routes.services));
        tree.show({ ...routes, open: (path) => go(viewHash('where', '', { url: path, agent: name })) });
      }, body);
    }
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
        ? h('span', null, 'It publishes level ', h('b', null, `${log.level}${log.tag ? ` of ${log.tag}` : ''}`),
          log.from ? ` (set by ${log.from})` : '', ', ', h('span', { class: 'level-left', title: exact(log.until) }))
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
    fill(body, h('p', { class: isGone ? 'notice-line' : 'hint' }, isGone ? icon('warn') : null,
      since(health.asOf, 'As of '),
      isGone ? `, before it was ${row.condition === 'lost' ? 'lost' : 'shut down'}: it may be otherwise now.`
        : ', when it last told its health.'),
      checkTable(health.checks),
      h('details', { class: 'limits', open: this.querySelector('details')?.open ?? false },
        h('summary', null, plural(health.limits.length, 'limit')),
        table('Limits', ['Limit', 'Value'], health.limits.map(({ name, text }) => [name, text]))));
  }
}

/** @param {import('./types.js').RefusedMap} refused */
function refusalText({ layer, revision, code: number, name, detail }) {
  return `Refused ${layer}${revision === null ? '' : ` rev ${revision}`}: ${number} ${name}. ${detail}`;
}

/** @param {import('./types.js').GroupsDocument} document */
function groupsText({ revision, added, removed }) {
  const names = (/** @type {string[]} */ groups) => groups.map((group) => `@${group}`).join(' ');
  const changes = [added.length ? `added ${names(added)}` : '', removed.length ? `removed ${names(removed)}` : ''];
  return `groups rev ${revision}: ${changes.filter(Boolean).join('; ') || 'those of its own settings'}`;
}

/** @param {import('./types.js').Service[]} services */
function servicesView(services) {
  if (!services.length) return null;
  return h('section', null, h('h2', null, plural(services.length, 'service')),
    table('Services', ['Method', 'Arguments', 'Result', 'What it does'],
      services.flatMap(({ name, methods }) => methods.map((method) => [code(`${name}.${method.name}`),
        method.parameters.map(({ label, type, optional }) => `${label}: ${type}${optional ? '?' : ''}`).join(', '),
        method.result, method.summary]))));
}

customElements.define('page-agent', AgentPage);
