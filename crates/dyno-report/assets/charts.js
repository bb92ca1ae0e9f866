// Time charts, and code shared by all charts.

const DATA = JSON.parse(document.getElementById('data').textContent);

// All charts of the page by id: { id, place, spec, choice, toggles, drawn }.
const charts = new Map();
// Per run: the visible part of the time, in percent.
const zooms = DATA.runs.map(() => ({ start: 0, end: 100 }));
let printing = false;

const base = () => ({
  animation: false,
  backgroundColor: 'transparent',
  textStyle: { fontFamily: style('--sans'), color: style('--soft'), fontSize: 12 },
});

// Room for the labels of an axis.
const LEFT = 64;

const narrow = () => window.innerWidth < 600 && !printing;

const axisLook = () => ({
  axisLine: { show: false },
  axisTick: { show: false },
  axisLabel: { color: style('--soft'), fontSize: 11, hideOverlap: true },
  splitLine: { lineStyle: { color: style('--grid'), width: 1 } },
  nameTextStyle: { color: style('--soft'), fontSize: 11 },
});

function valueAxis(axis, side = 'left', { marks, ...more } = {}) {
  const unit = unitName(axis.unit);
  const look = axisLook();
  look.nameTextStyle = { ...look.nameTextStyle, align: side === 'left' ? 'left' : 'right', padding: side === 'left' ? [0, 0, 0, -52] : [0, -52, 0, 0] };
  return {
    type: axis.log ? 'log' : 'value',
    name: unit && axis.name && unit !== axis.name ? `${axis.name}, ${unit}` : axis.name || unit,
    nameGap: 10,
    nameMoveOverlap: false,
    max: axis.max ?? undefined,
    position: side,
    ...look,
    axisLabel: { ...look.axisLabel, formatter: (value) => onAxis(value, axis.unit), ...(marks ? { customValues: marks } : {}) },
    axisTick: marks ? { show: false, customValues: marks } : { show: false },
    splitLine: { ...look.splitLine, show: side === 'left' },
    ...more,
  };
}

// A step in seconds for about a handful of round labels on an axis.
function timeStep(length) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const most = narrow() || plotWidth() < 420 ? 4 : 8;
  return steps.find((step) => length / step <= most) ?? 86400 * Math.ceil(length / 86400 / most);
}

// The positions of an axis's labels in the visible part of a run's time.
function timeLabels(run) {
  const { from, to } = DATA.runs[run];
  const at = (percent) => from + ((to - from) * percent) / 100;
  const [first, last] = [at(zooms[run].start), at(zooms[run].end)];
  const step = timeStep(last - first);
  const customValues = [];
  for (let n = Math.ceil(first / step); n * step <= last; n += 1) customValues.push(Math.round(n * step * 1000));
  return { customValues, formatter: (value) => clock(value, step < 1) };
}

const timeAxis = (run) => {
  const { from, to } = DATA.runs[run];
  const look = axisLook();
  return {
    type: 'value',
    min: from * 1000,
    max: to * 1000,
    ...look,
    axisLine: { show: true, lineStyle: { color: style('--line') } },
    splitLine: { show: false },
    axisLabel: { ...look.axisLabel, ...timeLabels(run) },
    name: to - from >= 3600 ? 'h:min:s' : 'min:s',
    nameLocation: 'end',
    nameMoveOverlap: false,
    nameGap: 4,
    nameTextStyle: { ...look.nameTextStyle, verticalAlign: 'top', align: 'right', padding: [22, 0, 0, 0] },
  };
};

const tooltip = (trigger, formatter, more = {}) => ({
  trigger,
  formatter,
  confine: true,
  transitionDuration: 0,
  backgroundColor: style('--panel'),
  borderColor: style('--line'),
  borderWidth: 1,
  padding: [8, 10],
  textStyle: { color: style('--ink'), fontSize: 12, fontFamily: style('--sans') },
  extraCssText: 'box-shadow:0 4px 16px rgba(0,0,0,.18);border-radius:6px;',
  axisPointer: { type: 'line', lineStyle: { color: style('--soft'), width: 1, type: 'solid' }, label: { show: false } },
  ...more,
});

// A tooltip's lines: [colour, name, value].
function tip(head, lines) {
  const table = element('table', { class: 'tip' });
  table.append(element('caption', {}, head));
  for (const [paint, name, value] of lines) {
    const dot = element('i');
    dot.style.background = paint;
    table.append(element('tr', {}, element('td', {}, dot, name), element('td', {}, value)));
  }
  return table;
}

const zoomParts = (run, slider) => {
  const { start, end } = zooms[run];
  const shared = { xAxisIndex: 0, start, end, filterMode: 'filter' };
  const coarse = window.matchMedia('(pointer: coarse)').matches;
  const inside = { type: 'inside', ...shared, zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false, disabled: coarse };
  if (!slider || printing) return [inside];
  return [inside, {
    type: 'slider', ...shared, height: 22, bottom: 6, showDetail: false, brushSelect: true,
    borderColor: style('--line'), fillerColor: style('--shade'), backgroundColor: 'transparent',
    dataBackground: { lineStyle: { color: style('--line') }, areaStyle: { color: style('--line') } },
    selectedDataBackground: { lineStyle: { color: style('--soft') }, areaStyle: { color: style('--line') } },
    handleStyle: { color: style('--panel'), borderColor: style('--soft') },
    moveHandleStyle: { color: style('--line') },
    textStyle: { color: style('--soft') },
  }];
};

// Warm-up, parts of the load, stalls and events, as marks of a chart's first series.
function marks(run, labelled) {
  const { from, to, warmup, parts, stalls, events } = DATA.runs[run];
  const areas = [];
  const lines = [];
  const span = (a, b, paint) => areas.push([{ xAxis: a * 1000, itemStyle: { color: paint } }, { xAxis: b * 1000 }]);
  if (warmup) span(warmup[0], warmup[1], style('--shade'));
  for (const part of parts) {
    lines.push({
      xAxis: part.at * 1000, lineStyle: { color: style('--soft'), type: 'dotted', width: 1 },
      label: { show: labelled, formatter: part.text, color: style('--soft') },
    });
  }
  // A stall narrower than a pixel or two must still be visible.
  const least = (to - from) / 400;
  for (const [a, b] of stalls) {
    const more = Math.max(0, least - (b - a)) / 2;
    span(Math.max(from, a - more), Math.min(to, b + more), style('--stall'));
  }
  events.forEach((event, index) => {
    if (event.until !== null) span(event.at, event.until, style('--event-area'));
    lines.push({ xAxis: event.at * 1000, label: { show: labelled, formatter: `E${index + 1}` } });
  });
  return {
    markArea: { silent: true, data: areas },
    markLine: {
      silent: true, symbol: 'none', data: lines,
      lineStyle: { color: style('--event'), type: 'dashed', width: 1 },
      label: { position: 'end', distance: 2, color: style('--event'), fontSize: 10, fontWeight: 600 },
    },
  };
}

// Dash styles of lines with the same colour.
const dashes = (number) => ['solid', [7, 4], [3, 2], [9, 3, 2, 3]][number % 4];

function timeSeries(line, stacked) {
  const times = DATA.times[line.x];
  const paint = colour(line.colour);
  const few = times.length <= 3;
  const series = {
    type: 'line', name: line.name, yAxisIndex: line.axis,
    data: times.map((time, i) => [time, line.y[i]]),
    showSymbol: few, symbolSize: 5, color: paint,
    lineStyle: { width: times.length > 1500 ? 1 : 1.5, color: paint, type: dashes(line.dash) },
    emphasis: { disabled: true },
  };
  if (line.look === 'area') series.areaStyle = { color: paint, opacity: 0.14 };
  if (stacked) {
    Object.assign(series, { stack: 'all', areaStyle: { color: paint, opacity: 0.85 }, lineStyle: { width: 0 } });
  }
  return series;
}

function timeOption(spec) {
  const stacked = spec.lines.some((line) => line.look === 'stack');
  const series = spec.lines.map((line) => timeSeries(line, line.look === 'stack'));
  if (series.length > 0) Object.assign(series[0], marks(spec.run, spec.slider));
  const several = spec.lines.length > 1;
  const slide = spec.slider && !printing;
  const unit = (index) => spec.axes[spec.lines[index].axis].unit;
  const right = spec.axes.length > 1;
  const names = [...new Set(spec.lines.map((line) => line.name))];
  const rows = legendRows(names);
  return {
    ...base(),
    aria: { enabled: printing && stacked, label: { enabled: false }, decal: { show: true } },
    grid: { left: LEFT, right: right ? LEFT : 20, top: several ? 32 + 20 * Math.min(rows, 6) : 30, bottom: slide ? 64 : 36 },
    legend: several ? legendOf(names, stacked ? { icon: 'rect', itemWidth: 16 } : {}) : undefined,
    tooltip: tooltip('axis', (points) => {
      const list = Array.isArray(points) ? points : [points];
      if (list.length === 0) return '';
      const lines = list.map((p) => [p.color, p.seriesName, withUnit(p.value[1], unit(p.seriesIndex))]);
      return tip(clock(list[0].value[0], true), stacked ? lines.reverse() : lines);
    }),
    xAxis: timeAxis(spec.run),
    yAxis: spec.axes.map((axis, i) => valueAxis(axis, i === 0 ? 'left' : 'right', scale(spec, i))),
    dataZoom: zoomParts(spec.run, spec.slider),
    series,
  };
}

// A logarithmic axis labelled at 1, 2 and 5 times powers of ten, or only at powers of ten if they are many.
function logScale(values) {
  const [low, high] = values.filter((y) => y > 0).reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, 0]);
  if (!(high > 0)) return {};
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 1.7 ? [1, 3] : [1, 2, 5];
  const marks = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) marks.push(Number(`${step}e${power}`));
  }
  const below = marks.filter((mark) => mark <= low * 1.0001).pop() ?? low;
  const above = marks.find((mark) => mark >= high * 0.9999) ?? high;
  const customValues = marks.filter((mark) => mark >= below && mark <= above);
  return { min: below, max: above > below ? above : below * 10, marks: customValues };
}

// Steps of 1, 2 or 5 times a power of ten, about five for this range.
function roundStep(reach) {
  const rough = reach / 5;
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((step) => step * power >= rough * 0.999) * power;
}

// The height of stacked lines at the visible times.
function stackedTop(lines, seen) {
  const sums = new Map();
  for (const line of lines) {
    DATA.times[line.x].forEach((time, i) => seen(time) && sums.set(time, (sums.get(time) ?? 0) + (line.y[i] ?? 0)));
  }
  return Math.max(0, ...sums.values());
}

function linearScale(spec, index) {
  const own = spec.lines.filter((line) => line.axis === index);
  const { from, to } = DATA.runs[spec.run];
  // Values before the start of the chart are excluded.
  const seen = (time) => time >= from * 1000 && time <= to * 1000;
  const reaches = own.map((line) => line.y.reduce((max, y, i) => (seen(DATA.times[line.x][i]) ? Math.max(max, Math.abs(y ?? 0)) : max), 0));
  const stacked = spec.lines.some((line) => line.look === 'stack');
  const reach = spec.axes[index].max ?? (stacked ? stackedTop(own, seen) : Math.max(0, ...reaches));
  if (!(reach > 0)) return { min: 0 };
  const step = roundStep(reach);
  return {
    interval: step,
    min: (range) => (range.min < 0 ? step * Math.floor(range.min / step) : 0),
    max: spec.axes[index].max ?? ((range) => Math.max(step, step * Math.ceil(range.max / step - 1e-9))),
  };
}

// An axis's end and its lines: for bytes at multiples of powers of two.
function scale(spec, index) {
  const axis = spec.axes[index];
  if (axis.log) return logScale(spec.lines.filter((line) => line.axis === index).flatMap((line) => line.y));
  if (!axis.unit.startsWith('bytes')) return linearScale(spec, index);
  const from = { min: (range) => Math.min(0, range.min) };
  const tops = spec.lines.filter((line) => line.axis === index).map((line) => line.y.reduce((max, y) => Math.max(max, y ?? 0), 0));
  const stacked = spec.lines.some((line) => line.look === 'stack');
  const top = stacked ? tops.reduce((sum, y) => sum + y, 0) : Math.max(0, ...tops);
  if (top <= 0) return from;
  const step = 2 ** Math.ceil(Math.log2(top / 5));
  return { ...from, interval: step, max: step * Math.ceil(top / step) };
}

// The element of the chart being drawn.
let drawing = null;
const plotWidth = () => drawing?.clientWidth || 800;
