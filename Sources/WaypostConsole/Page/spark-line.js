// A number a minute as bars, the newest at the right; null is a minute that was not seen, and is drawn as a gap.
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
    /** @type {(number | null)[]} */
    this.values = [];
    /** The size in CSS pixels, so that drawing asks for no layout. */
    this.size = { width: 92, height: 18 };
  }

  /** @param {(number | null)[]} values @param {string} what they count @param {{ width: number, height: number }} [size] */
  show(values, what, size) {
    this.values = values;
    if (size) this.size = size;
    const seen = values.flatMap((value) => (value === null ? [] : [value]));
    const total = seen.reduce((sum, value) => sum + value, 0);
    const gap = seen.length < values.length ? `; ${values.length - seen.length} min were not seen` : '';
    const text = (total
      ? `${plural(total, what)} in ${seen.length} min, ${values[values.length - 1] ?? 'not known how many'} in the newest`
      : `no ${what} in ${seen.length} min`) + gap;
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
    const most = Math.max(4, ...this.values.map((value) => value ?? 0));
    const step = width / Math.max(1, this.values.length);
    context.fillStyle = colour('--line');
    if (!this.values.length) context.fillRect(0, height - 1, width, 1);
    this.values.forEach((value, index) => {
      if (value !== null) context.fillRect(index * step, height - 1, step, 1);
    });
    context.fillStyle = colour('--bad');
    this.values.forEach((value, index) => {
      if (value === null || value <= 0) return;
      const bar = Math.max(2, (value / most) * (height - 2));
      context.fillRect(index * step, height - 1 - bar, Math.max(1, step - (step > 4 ? 1 : 0.35)), bar);
    });
  }
}

customElements.define('spark-line', SparkLine);
