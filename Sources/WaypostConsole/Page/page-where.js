// Where does this URL go?
import { agentInput } from './agent-input.js';
import { agentPath, get, post } from './api.js';
import { chain } from './chain.js';
import { cliLine, emptyState, field, fill, h, hint, link } from './dom.js';
import { Page } from './page.js';
import { RouteTree } from './route-tree.js';
import { viewHash } from './view.js';

export class WherePage extends Page {
  constructor() {
    super();
    this.url = h('input', { type: 'text', 'data-search': true, placeholder: 'app://shop/42', spellcheck: 'false',
      autocomplete: 'off', autocapitalize: 'off', maxlength: 2_048, required: true });
    this.agent = agentInput({ label: 'On', value: this.view.options.agent ?? '', placeholder: 'one of each build',
      changed: () => undefined });
    this.treeOf = 'none yet';
    this.answer = h('div', { class: 'answers', 'aria-live': 'polite' });
    this.tree = h('section', { class: 'tree-section', 'aria-label': 'Routes' });
    this.append(this.heading('Where does this URL go?'), this.notice, h('form', {
      class: 'where-form', onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.change({ url: this.url.value.trim() ?? '', agent: this.agent.input.value.trim() ?? '' });
        this.question = null;
        this.ask();
      },
    }, field('URL', this.url), field('On', this.agent.element), h('button', { class: 'primary' }, 'Look')),
      this.answer, this.tree);
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    super.show(view);
    const { url = '', agent = '' } = view.options;
    if (this.url && document.activeElement !== this.url) this.url.value = url;
    if (this.agent && document.activeElement !== this.agent.input) this.agent.input.value = agent;
    this.ask();
  }

  ask() {
    const { url = '', agent = '' } = this.view.options;
    if (this.isAsked(`${url}\n${agent}`)) return;
    delete this.answer.dataset.drawn;
    if (!url) {
      this.drop('resolve');
      fill(this.when);
      fill(this.answer, emptyState('where', 'Type a URL to see where it leads',
        'Its redirects, the layer and entry of each, who is asked on the way, and the screen. Nothing is opened.'));
    } else {
      void this.load(`resolve ${agent} ${url}`, (signal) =>
          post('/api/resolve', { url, agents: agent ? [agent] : null }, signal),
        (found) => {
          this.dated(found.asOf);
          const results = /** @type {import('./types.js').Resolution[]} */ (found.results);
          fill(this.answer, results.length ? null : emptyState('fleet', 'There is no agent that could be asked'),
            h('div', { class: 'cards' }, results.map(chain)), cliLine(found.command));
        }, this.answer);
    }
    if (this.treeOf === agent) return;
    this.treeOf = agent;
    delete this.tree.dataset.drawn;
    if (!agent) {
      this.drop('routes');
      fill(this.tree, hint('Name an agent to see all routes of its build and its redirects.'));
      return;
    }
    void this.load(`routes ${agent}`, (signal) => get(agentPath(agent, '/routes'), {}, signal), (routes) => {
      const tree = new RouteTree();
      fill(this.tree, h('h2', null, 'All routes of ', link(viewHash('agent', agent), agent)), tree);
      tree.show({ ...routes, open: (path) => this.change({ url: path }) });
    }, this.tree);
  }
}

customElements.define('page-where', WherePage);
