// Tables: the data of charts, filters, and the counters to pick from.

const ROWS_MAX = 2000;

// The header and the rows of a chart's data.
function tableOf(spec, choice) {
  const picked = spec.of ? spec.of[choice][1] : spec;
  switch (spec.kind) {
    case 'time': return timeTable(spec);
    case 'heat': return {
      header: ['from', 'to', 'latency from (ms)', 'latency to (ms)', 'operations per second'],
      rows: groups(picked.cells, 3).map(([c, r, rate]) => [
        clock(picked.columns[c][0] * 1000, true), clock(picked.columns[c][1] * 1000, true), picked.rows[r], picked.rows[r + 1], rate,
      ]),
    };
    case 'distribution': return {
      header: ['from (ms)', 'to (ms)', 'count'], rows: groups(picked.logarithmic, 3),
    };
    case 'curves': return {
      header: ['line', `${spec.x.name} (${spec.x.unit || 'number'})`, `${spec.y.name} (${spec.y.unit})`],
      rows: spec.lines.flatMap(({ name, points }) => groups(points, 2).map(([x, y]) => [name, x, y])),
    };
    default: return {
      header: ['group', 'lower whisker', 'lower quartile', 'median', 'upper quartile', 'upper whisker', 'seconds drawn'],
      rows: spec.groups.map(({ name, heading, five, dots }) => [[heading, name].filter(Boolean).join(', '), ...five, dots.length]),
    };
  }
}

function timeTable(spec) {
  const rows = new Map();
  spec.lines.forEach((line, n) => {
    DATA.times[line.x].forEach((time, i) => {
      if (!rows.has(time)) rows.set(time, Array(spec.lines.length).fill(null));
      rows.get(time)[n] = line.y[i];
    });
  });
  const times = [...rows.keys()].sort((a, b) => a - b);
  return {
    header: ['time (s)', ...spec.lines.map((line) => `${line.name} (${spec.axes[line.axis].unit})`)],
    rows: times.map((time) => [time / 1000, ...rows.get(time)]),
  };
}

const cell = (value) => (value === null || value === undefined ? '' : String(value));

// Fills the table below a chart when it is opened.
function fillTable(details) {
  const chart = charts.get(details.dataset.table);
  if (!chart) return;
  details.querySelectorAll(':scope > :not(summary)').forEach((old) => old.remove());
  const { header, rows } = tableOf(chart.spec, chart.choice);
  const table = element('table', { class: 'grid' });
  table.append(element('thead', {}, element('tr', {}, ...header.map((name) => element('th', { scope: 'col' }, name)))));
  const body = element('tbody');
  for (const row of rows.slice(0, ROWS_MAX)) body.append(element('tr', {}, ...row.map((value) => element('td', {}, cell(value)))));
  table.append(body);
  const copy = element('button', { type: 'button' }, 'Copy as CSV');
  copy.addEventListener('click', () => copyText([header, ...rows].map((row) => row.map(quoted).join(',')).join('\n'), copy));
  const left = rows.length > ROWS_MAX ? `the first ${significant(ROWS_MAX)} of ${significant(rows.length)} rows; all are in the copy` : `${significant(rows.length)} rows`;
  details.append(
    element('p', { class: 'source' }, copy, ` ${left}`),
    element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Data of the chart' }, table),
  );
}

// A leading quote keeps a spreadsheet from evaluating a text that begins like a formula.
function quoted(value) {
  let text = cell(value);
  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function copyText(text, button) {
  const area = element('textarea', { class: 'offscreen', readonly: '' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  button.textContent = done ? 'Copied' : 'Could not copy';
  setTimeout(() => { button.textContent = 'Copy as CSV'; }, 2000);
  button.focus();
}

// A field that hides the rows without the typed text, or without a difference.
function setUpFilter(box) {
  const rows = [...document.querySelectorAll(`#${box.dataset.filter} tbody tr`)];
  const field = box.querySelector('input[type=search]');
  const only = box.querySelector('input[type=checkbox]');
  const said = box.querySelector('output');
  const update = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = words.every((word) => text.includes(word)) && !(only?.checked && row.dataset.moved === undefined);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    for (const family of document.querySelectorAll(`#${box.dataset.filter} details.family`)) {
      const some = family.querySelector('tbody tr:not([hidden])') !== null;
      family.hidden = !some;
      if (words.length > 0 && some) family.open = true;
    }
    said.textContent = `${significant(shown)} of ${significant(rows.length)}`;
  };
  field.addEventListener('input', update);
  only?.addEventListener('change', update);
  update();
}

// A counter over time as a small line.
function spark(values) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(...known, low + 1e-12);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.flatMap((value, i) => (value === null ? [] : [`${(i * step).toFixed(1)},${(19 - ((value - low) / (high - low)) * 18).toFixed(1)}`]));
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  const line = document.createElementNS(space, 'polyline');
  svg.setAttribute('viewBox', '0 0 100 20');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  line.setAttribute('points', points.join(' '));
  svg.append(line);
  return svg;
}

// Rows of counters: small lines when their family is opened, and a chart of the picked ones.
function setUpCounters(box) {
  const set = DATA.counters.find((counters) => counters.run === Number(box.dataset.counters));
  const chart = charts.get(box.dataset.chartId);
  if (!set || !chart) return;
  const buttons = [...box.querySelectorAll('button.pick')];
  const fill = (family) => family.querySelectorAll('td.spark:empty').forEach((place) => place.append(spark(set.series[place.dataset.series].y)));
  for (const family of box.querySelectorAll('details.family')) {
    if (family.open) fill(family);
    family.addEventListener('toggle', () => family.open && fill(family));
  }
  let picked = [];
  const pick = () => {
    const units = [];
    const lines = [];
    for (const number of picked) {
      const series = set.series[number];
      if (!units.includes(series.unit)) units.push(series.unit);
      lines.push({ name: series.name, axis: units.indexOf(series.unit), x: series.x, y: series.y, look: 'line', colour: lines.length });
    }
    chart.spec.axes = units.map((unit) => ({ name: 'counters', unit, max: null, log: false }));
    // Without an axis there is no chart.
    if (units.length === 0) chart.spec.axes = [{ name: 'nothing picked', unit: 'count', max: null, log: false }];
    chart.spec.lines = lines;
    for (const button of buttons) button.setAttribute('aria-pressed', picked.includes(Number(button.dataset.series)));
    redraw(chart);
  };
  for (const button of buttons) {
    if (button.getAttribute('aria-pressed') === 'true') picked.push(Number(button.dataset.series));
    button.addEventListener('click', () => {
      const number = Number(button.dataset.series);
      if (picked.includes(number)) picked = picked.filter((other) => other !== number);
      else picked = [...picked, number].slice(-8);
      // A chart has two axes: those of the two newest units stay.
      const units = [...new Set([...picked].reverse().map((other) => set.series[other].unit))].slice(0, 2);
      picked = picked.filter((other) => units.includes(set.series[other].unit));
      pick();
    });
  }
  pick();
}
