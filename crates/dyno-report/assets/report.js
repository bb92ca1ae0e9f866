// The page: lazy drawing, light and dark mode, zoom, printing.

let dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
const isDark = () => dark && !printing;

function optionOf(chart) {
  const { spec } = chart;
  const picked = spec.of ? spec.of[chart.choice][1] : spec;
  switch (spec.kind) {
    case 'time': return timeOption(picked);
    case 'heat': return heatOption(picked);
    case 'distribution': return distributionOption(picked, chart.toggles);
    case 'curves': return curvesOption(picked, chart.toggles);
    default: return groupsOption(picked);
  }
}

const runOf = ({ spec }) => (spec.of ? spec.of[0][1].run : spec.run);
const zoomable = ({ spec }) => spec.kind === 'time' || spec.kind === 'heat';

function draw(chart) {
  if (!chart.drawn) {
    const sharp = Math.max(2, window.devicePixelRatio || 1);
    chart.drawn = echarts.init(chart.place, null, { renderer: 'canvas', devicePixelRatio: sharp });
    if (zoomable(chart)) chart.drawn.on('datazoom', () => followZoom(chart));
    setUpCross(chart);
  }
  drawing = chart.place;
  chart.drawn.setOption(optionOf(chart), { notMerge: true });
}

function redraw(chart) {
  if (chart.drawn) draw(chart);
  const data = document.querySelector(`details[data-table="${chart.id}"][open]`);
  if (data) fillTable(data);
}

const redrawAll = () => charts.forEach((chart) => chart.drawn && draw(chart));

let following = false;

// All charts of a run show the same part of its time.
function followZoom(chart) {
  if (following) return;
  const run = runOf(chart);
  const { start, end } = chart.drawn.getOption().dataZoom[0];
  setZoom(run, start, end, chart);
}

function setZoom(run, start, end, but) {
  zooms[run] = { start, end };
  following = true;
  for (const other of charts.values()) {
    if (!other.drawn || !zoomable(other) || runOf(other) !== run) continue;
    if (other !== but) other.drawn.dispatchAction({ type: 'dataZoom', start, end });
    drawing = other.place;
    other.drawn.setOption({ xAxis: { axisLabel: timeLabels(run) } }, { lazyUpdate: true });
  }
  following = false;
  const whole = zooms.every((zoom) => zoom.start <= 0 && zoom.end >= 100);
  document.getElementById('reset-zoom').hidden = whole;
}

function setTheme(toDark) {
  dark = toDark;
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  const button = document.getElementById('theme');
  button.textContent = dark ? 'Light' : 'Dark';
  redrawAll();
}

// Buttons that act as a radio group.
function switcher(chart, name, label, choices) {
  const box = element('span', { class: 'switch', role: 'group', 'aria-label': label }, element('span', {}, label));
  for (const choice of choices) {
    const button = element('button', { type: 'button', 'aria-pressed': chart.toggles[name] === choice }, choice);
    button.addEventListener('click', () => {
      chart.toggles[name] = choice;
      box.querySelectorAll('button').forEach((other) => other.setAttribute('aria-pressed', other === button));
      redraw(chart);
    });
    box.append(button);
  }
  return box;
}

function setUpChart(place) {
  const id = place.dataset.chart;
  const spec = DATA.charts[id];
  const chart = { id, place, spec, choice: 0, toggles: { x: 'log', y: 'linear', part: 'all' }, drawn: null };
  charts.set(id, chart);
  setUpKeys(chart);
  const controls = document.querySelector(`[data-controls="${id}"]`);
  if (spec.kind === 'distribution') {
    controls.append(switcher(chart, 'x', 'Latency', ['log', 'linear']), switcher(chart, 'y', 'Count', ['linear', 'log']));
  }
  if (spec.kind === 'curves' && spec.tail) controls.append(switcher(chart, 'part', 'Show', ['all', 'tail']));
  if (spec.kind === 'groups') place.style.height = `${groupsHeight(spec)}px`;
  if (spec.of && spec.of.length > 1) {
    const select = element('select', { 'aria-label': 'Operation' }, ...spec.of.map(([name], i) => element('option', { value: i }, name)));
    select.addEventListener('change', () => {
      chart.choice = Number(select.value);
      redraw(chart);
    });
    controls.prepend(select);
  }
}

// The size of a chart on paper, as in print.css.
function paperSize({ spec, place: { classList } }) {
  if (spec.kind === 'groups') return { width: 660, height: groupsHeight(spec) };
  const height = classList.contains('tall') ? 260 : classList.contains('short') ? 170 : 210;
  return { width: 660, height };
}

function setUpPrinting() {
  const toPrint = (on) => {
    if (printing === on) return;
    printing = on;
    // The print style sheet is not active yet: this makes the colours light.
    document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
    charts.forEach((chart) => {
      if (!chart.place.checkVisibility()) return;
      if (!chart.drawn) draw(chart);
      chart.drawn.resize(on ? paperSize(chart) : { width: 'auto', height: 'auto' });
      // Last, because only this paints immediately, and printing does not wait.
      draw(chart);
    });
  };
  window.addEventListener('beforeprint', () => toPrint(true));
  window.addEventListener('afterprint', () => toPrint(false));
  window.matchMedia('print').addEventListener('change', (query) => toPrint(query.matches));
}

function setUpNavigation() {
  const contents = document.getElementById('contents');
  const wide = window.matchMedia('(min-width: 1000px)');
  const fold = () => { contents.open = wide.matches; };
  wide.addEventListener('change', fold);
  fold();
  // A target within a folded section must be unfolded to be visible.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
    if (target) target.scrollIntoView();
  };
  window.addEventListener('hashchange', unfold);
  contents.addEventListener('click', (event) => {
    if (event.target.tagName === 'A' && !wide.matches) contents.open = false;
  });
  unfold();
  const links = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const link = links.get(target.id);
      if (link && isIntersecting) {
        links.forEach((other) => other.removeAttribute('aria-current'));
        link.setAttribute('aria-current', 'location');
      }
    }
  }, { rootMargin: '-20% 0px -70% 0px' });
  links.forEach((_, id) => {
    const section = document.getElementById(id);
    if (section) seen.observe(section);
  });
}

function start() {
  document.querySelectorAll('[data-chart]').forEach(setUpChart);
  const near = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const chart = charts.get(target.dataset.chart);
      if (isIntersecting && !chart.drawn) draw(chart);
    }
  }, { rootMargin: '300px' });
  charts.forEach(({ place }) => near.observe(place));
  const size = new ResizeObserver((entries) => {
    for (const { target } of entries) if (!printing) charts.get(target.dataset.chart).drawn?.resize();
  });
  charts.forEach(({ place }) => size.observe(place));
  document.querySelectorAll('[data-table]').forEach((details) => {
    details.addEventListener('toggle', () => details.open && fillTable(details));
  });
  document.querySelectorAll('[data-filter]').forEach(setUpFilter);
  document.querySelectorAll('[data-flame]').forEach(setUpFlame);
  document.querySelectorAll('[data-counters]').forEach(setUpCounters);
  document.getElementById('theme').addEventListener('click', () => setTheme(!dark));
  document.getElementById('reset-zoom').addEventListener('click', () => zooms.forEach((_, run) => setZoom(run, 0, 100)));
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (query) => setTheme(query.matches));
  setTheme(dark);
  setUpPrinting();
  setUpNavigation();
  // For tests, and to see everything at once.
  window.dynoReport = { charts, draw, drawAll: () => charts.forEach((chart) => chart.place.clientWidth > 0 && draw(chart)) };
}

start();
