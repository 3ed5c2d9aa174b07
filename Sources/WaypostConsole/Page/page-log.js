// What do the agents say?
import { LogView } from './log-view.js';
import { check } from './query.js';
import { Page } from './page.js';

export class LogPage extends Page {
  constructor() {
    super();
    this.classList.add('is-full');
    this.log = new LogView();
    this.log.changed = (options) => this.change(options);
    this.append(this.heading('Log'), this.notice, this.log);
    this.list = this.log.list ?? null;
  }

  /** @param {import('./view.js').View} view */
  show(view) {
    const { q = '', at = '' } = view.options;
    this.view = view;
    this.log.show({ agent: '', text: q, at: /^\d+$/.test(at) ? Number(at) : null });
    super.show(view);
  }

  streams() {
    const { q = '' } = this.view.options;
    // A query with a fault shows nothing; the line says what is wrong.
    return { log: check(q).query ? q : null };
  }

  pause() {
    return this.log.pause() ?? false;
  }

  close() {
    return this.log.close() ?? false;
  }
}

customElements.define('page-log', LogPage);
