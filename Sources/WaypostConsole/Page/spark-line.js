// A number a minute as bars, the newest at the right.
import { plural } from './time.js';

/** @type {Map<string, string>} */
const colours = new Map();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  colours.clear();
  for (const element of document.querySelectorAll('spark-line')) {
    if (element instanceof SparkLine) element.draw();
  }
});

// A colour of the style sheet, which costs a look at the style only once.
/** @param {string} name */
function colour(name) {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, value);
  }
  return value;
}

export class SparkLine extends HTMLElement {
  constructor() {
    super();
    /** @type {number[]} */
    this.values = [];
    /** The size in CSS pixels, so that drawing asks for no layout. */
    this.size = { width: 92, height: 18 };
  }

  /** @param {number[]} values @param {string} what they count @param {{ width: number, height: number }} [size] */
  show(values, what, size) {
    this.values = values;
    if (size) this.size = size;
    const total = values.reduce((sum, value) => sum + value, 0);
    const text = total
      ? `${plural(total, what)} in ${values.length} min, ${values[values.length - 1]} in the newest`
      : `no ${what} in ${values.length} min`;
    this.setAttribute('role', 'img');
    this.setAttribute('aria-label', text);
    this.title = text;
    this.draw();
  }

  draw() {
    let canvas = this.querySelector('canvas');
    if (!canvas) this.append(canvas = document.createElement('canvas'));
    const { width, height } = this.size;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== width * scale || canvas.height !== height * scale) {
      canvas.width = width * scale;
      canvas.height = height * scale;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext('2d');
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const most = Math.max(4, ...this.values);
    const step = width / Math.max(1, this.values.length);
    context.fillStyle = colour('--line');
    context.fillRect(0, height - 1, width, 1);
    context.fillStyle = colour('--bad');
    this.values.forEach((value, index) => {
      if (value <= 0) return;
      const bar = Math.max(2, (value / most) * (height - 2));
      context.fillRect(index * step, height - 1 - bar, Math.max(1, step - (step > 4 ? 1 : 0.35)), bar);
    });
  }
}

customElements.define('spark-line', SparkLine);
