// Flame graphs: each box is a function, as wide as its share of the samples, below its caller.

const ROW = 18;
// The approximate width of a character in the boxes' font.
const CHARACTER = 6.7;
// Narrower boxes are not drawn until their caller is enlarged.
const BOX_MIN = 0.4;

// The frames with their callers and start positions: { name, kind, samples, from, depth, up }.
function framesOf({ samples, names, kinds, frames }) {
  const whole = { name: 'all', kind: 0, samples, from: 0, depth: -1, up: null, used: 0 };
  const path = [whole];
  const all = groups(frames, 3).map(([depth, number, count]) => {
    path.length = depth + 1;
    const up = path[depth];
    const frame = { name: names[number], kind: kinds[number], samples: count, from: up.from + up.used, depth, up, used: 0 };
    up.used += count;
    path.push(frame);
    return frame;
  });
  return { whole, all };
}

const svgElement = (name, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// One of four tints, the same for each box of a function.
function tint(name) {
  let sum = 0;
  for (let i = 0; i < name.length; i += 1) sum = (sum * 31 + name.charCodeAt(i)) % 65521;
  return sum % 4;
}

const within = (frame, outer) => frame.from >= outer.from && frame.from < outer.from + outer.samples && frame.depth > outer.depth;

function isCaller(frame, of) {
  for (let at = of; at; at = at.up) if (at === frame) return true;
  return false;
}

function setUpFlame(place) {
  const data = DATA.flames[Number(place.dataset.flame)];
  const { whole, all } = framesOf(data);
  const ofKind = ['', ' (kernel)', ''];
  const words = (frame) => {
    const of = frame.up ? `, ${significant((100 * frame.samples) / data.samples)} % of all` : '';
    return `${frame.name}${ofKind[frame.kind]}: ${significant(frame.samples)} samples${of}`;
  };
  const description = element('span', { 'aria-live': 'polite' }, words(whole));
  const reset = element('button', { type: 'button', hidden: '' }, 'Whole graph');
  const scroll = element('div', { class: 'scroll' });
  place.append(element('p', { class: 'description' }, description, reset), scroll);
  // The frame that fills the width, the described frame, and the positions of the boxes.
  let root = whole;
  let at = whole;
  let boxes = new Map();
  const describe = (frame) => {
    boxes.get(at)?.classList.remove('at');
    at = frame;
    boxes.get(at)?.classList.add('at');
    description.textContent = words(frame);
  };
  const draw = () => {
    const width = scroll.clientWidth;
    if (width === 0) return;
    const shown = all.filter((frame) => within(frame, root) || isCaller(frame, root));
    const depth = shown.reduce((most, frame) => Math.max(most, frame.depth), 0);
    const height = (depth + 1) * ROW;
    const svg = svgElement('svg', { viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    boxes = new Map();
    for (const frame of shown) {
      const isOuter = !within(frame, root) && frame !== root;
      const x = isOuter ? 0 : ((frame.from - root.from) / root.samples) * width;
      const wide = isOuter ? width : (frame.samples / root.samples) * width;
      if (wide < BOX_MIN) continue;
      const look = frame.depth === 0 ? 'thread' : `k${frame.kind}${frame.kind ? '' : ` v${tint(frame.name)}`}`;
      const box = svgElement('g', { class: isOuter ? `${look} outer` : look }, svgElement('title', {}, words(frame)));
      box.append(svgElement('rect', { x: x.toFixed(2), y: frame.depth * ROW, width: wide.toFixed(2), height: ROW }));
      const room = Math.floor((wide - 6) / CHARACTER);
      if (room >= 3) {
        const text = frame.name.length > room ? `${frame.name.slice(0, room - 1)}…` : frame.name;
        box.append(svgElement('text', { x: (x + 3).toFixed(2), y: frame.depth * ROW + 13 }, text));
      }
      box.addEventListener('click', () => zoom(frame));
      boxes.set(frame, box);
      svg.append(box);
    }
    scroll.replaceChildren(svg);
    reset.hidden = root === whole;
    boxes.get(at)?.classList.add('at');
  };
  const zoom = (frame) => {
    root = frame;
    describe(frame);
    draw();
  };
  // To the caller, to the largest callee, to the neighbours.
  const step = (key) => {
    const beside = all.filter((frame) => frame.up === at.up && boxes.has(frame));
    const to = {
      ArrowUp: () => (at.up && at.up !== whole ? at.up : at),
      ArrowDown: () => all.filter((frame) => frame.up === at && boxes.has(frame)).sort((a, b) => b.samples - a.samples)[0] ?? at,
      ArrowLeft: () => beside[beside.indexOf(at) - 1] ?? at,
      ArrowRight: () => beside[beside.indexOf(at) + 1] ?? at,
    }[key];
    return to?.();
  };
  place.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target !== place) return;
    const to = step(event.key);
    if (to) {
      describe(to);
      boxes.get(to)?.scrollIntoView({ block: 'nearest' });
    } else if (event.key === 'Enter') zoom(at);
    else if (event.key === 'Escape') zoom(whole);
    else return;
    event.preventDefault();
  });
  reset.addEventListener('click', () => {
    zoom(whole);
    place.focus();
  });
  new ResizeObserver(draw).observe(scroll);
}
