// Columns of lists, by what is in their cells.
import { fill, setTime } from './dom.js';
import { SparkLine } from './spark-line.js';
import { visible } from './time.js';

/** @typedef {import('./virtual-list.js').Column} Column */

/** @param {string} name @param {string} label @param {(item: any) => string} text @param {string} [sort] @returns {Column} */
export function textColumn(name, label, text, sort) {
  return { name, label, sort, draw: (cell, item) => { cell.textContent = cell.title = visible(text(item)); } };
}

/** @param {string} name @param {string} label @param {(item: any) => import('./dom.js').Child[]} parts @param {string} [sort] @returns {Column} */
export function partsColumn(name, label, parts, sort) {
  return { name, label, sort, draw: (cell, item) => { fill(cell, ...parts(item)); } };
}

/** @param {string} name @param {string} label @param {(item: any) => number | null} time @param {string} [sort] @param {(item: any) => string} [before] @returns {Column} */
export function timeColumn(name, label, time, sort, before = () => '') {
  return {
    name, label, sort,
    draw: (cell, item) => {
      // The element stays: rows are filled again at each frame of a scroll.
      let element = cell.querySelector('time');
      if (!element) cell.append(element = document.createElement('time'));
      setTime(element, time(item), before(item));
    },
  };
}

/** @param {string} name @param {string} label @param {(item: any) => (number | null)[]} minutes @param {string} [sort] @returns {Column} */
export function sparkColumn(name, label, minutes, sort) {
  return {
    name, label, sort,
    draw: (cell, item) => {
      let line = cell.firstElementChild;
      if (!(line instanceof SparkLine)) cell.replaceChildren(line = new SparkLine());
      /** @type {SparkLine} */ (line).show(minutes(item), 'failure');
    },
  };
}
