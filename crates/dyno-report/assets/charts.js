// Charts in time, and what all charts share.

const DATA = JSON.parse(document.getElementById('data').textContent);

// All charts of the page by id: { id, place, spec, choice, toggles, drawn }.
const charts = new Map();
// Per run: the part of the time that is shown, in percent.
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

function valueAxis(axis, side = 'left', more = {}) {
  const unit = unitName(axis.unit);
  const look = axisLook();
  look.nameTextStyle = { ...look.nameTextStyle, align: side === 'left' ? 'left' : 'right', padding: side === 'left' ? [0, 0, 0, -52] : [0, -52, 0, 0] };
  return {
    type: axis.log ? 'log' : 'value',
    name: unit && unit !== axis.name ? `${axis.name}, ${unit}` : axis.name,
    nameGap: 10,
    nameMoveOverlap: false,
    max: axis.max ?? undefined,
    position: side,
    ...look,
    axisLabel: { ...look.axisLabel, formatter: (value) => onAxis(value, axis.unit) },
    splitLine: { ...look.splitLine, show: side === 'left' },
    ...more,
  };
}

// A step of seconds that people count in, so that an axis has a handful of them.
function timeStep(length) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
  const most = narrow() ? 4 : 8;
  return steps.find((step) => length / step <= most) ?? 86400 * Math.ceil(length / 86400 / most);
}

// Where an axis has its labels, in the part of a run's time that is shown.
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

// Warm-up, stalls and events, as marks of a chart's first series.
function marks(run, labelled) {
  const { from, to, warmup, stalls, events } = DATA.runs[run];
  const areas = [];
  const lines = [];
  const span = (a, b, paint) => areas.push([{ xAxis: a * 1000, itemStyle: { color: paint } }, { xAxis: b * 1000 }]);
  if (warmup) span(warmup[0], warmup[1], style('--shade'));
  // A stall narrower than a pixel or two still has to be seen.
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

function timeSeries(line, stacked) {
  const times = DATA.times[line.x];
  const paint = colour(line.colour);
  const few = times.length <= 3;
  const series = {
    type: 'line', name: line.name, yAxisIndex: line.axis,
    data: times.map((time, i) => [time, line.y[i]]),
    showSymbol: few, symbolSize: 5, color: paint,
    lineStyle: { width: times.length > 1500 ? 1 : 1.5, color: paint },
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
  const legendRows = Math.ceil(spec.lines.reduce((sum, line) => sum + line.name.length * 7 + 40, 0) / Math.max(300, plotWidth()));
  return {
    ...base(),
    aria: { enabled: printing && stacked, label: { enabled: false }, decal: { show: true } },
    grid: { left: LEFT, right: right ? LEFT : 20, top: several ? 32 + 20 * Math.min(legendRows, 4) : 30, bottom: slide ? 64 : 36 },
    legend: several ? { top: 0, left: 0, itemWidth: 16, itemHeight: 8, itemGap: 14, icon: stacked ? 'rect' : 'roundRect', textStyle: { color: style('--ink'), fontSize: 12 }, inactiveColor: style('--line') } : undefined,
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

// Where an axis ends and where its lines are: for bytes at multiples of powers of two.
function scale(spec, index) {
  const axis = spec.axes[index];
  if (axis.log) {
    // Less than two powers of ten have too few of them to read by.
    const values = spec.lines.filter((line) => line.axis === index).flatMap((line) => line.y).filter((y) => y > 0);
    const [low, high] = values.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, 0]);
    return high / low < 100 ? { logBase: 2 } : {};
  }
  const from = { min: (range) => Math.min(0, range.min) };
  if (!axis.unit.startsWith('bytes')) return from;
  const tops = spec.lines.filter((line) => line.axis === index).map((line) => line.y.reduce((max, y) => Math.max(max, y ?? 0), 0));
  const stacked = spec.lines.some((line) => line.look === 'stack');
  const top = stacked ? tops.reduce((sum, y) => sum + y, 0) : Math.max(0, ...tops);
  if (top <= 0) return from;
  const step = 2 ** Math.ceil(Math.log2(top / 5));
  return { ...from, interval: step, max: step * Math.ceil(top / step) };
}

const plotWidth = () => {
  const any = document.querySelector('.plot');
  return any ? any.clientWidth : 800;
};
