// Curves over a number, and groups of dots with box plots, to compare several runs.

// Names of sides share a legend's row as long as they fit.
const legendRows = (names) => {
  const width = Math.max(260, plotWidth() - 20);
  let [rows, used] = [1, 0];
  for (const name of names) {
    const own = Math.min(width, name.length * 6.4 + 46);
    if (used > 0 && used + own > width) {
      rows += 1;
      used = 0;
    }
    used += own;
  }
  return rows;
};

const legendOf = (names, more = {}) => ({
  top: 0, left: 0, itemWidth: 26, itemHeight: 8, itemGap: 14, data: names,
  textStyle: { color: style('--ink'), fontSize: 12, width: Math.max(180, plotWidth() - 60), overflow: 'truncate' },
  inactiveColor: style('--line'), ...more,
});

// The share above, for the tail of a distribution: 99 becomes 1.
const leftOf = (share) => 100 - share;
const tailLabel = (left) => `${significant(left)} %`;

function curvePoints(line, tail) {
  const points = groups(line.points, 2);
  if (!tail) return points;
  // Zero has no place on a logarithmic axis.
  return points.map(([x, y]) => [x, leftOf(y)]).filter(([, y]) => y > 0);
}

// Bars around points, between the quartiles.
function whisker(params, api) {
  const [x, top] = api.coord([api.value(0), api.value(2)]);
  const bottom = api.coord([api.value(0), api.value(1)])[1];
  const paint = { stroke: api.visual('color'), lineWidth: 1.5, opacity: 0.7 };
  const line = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: paint });
  return { type: 'group', children: [line(x, top, x, bottom), line(x - 4, top, x + 4, top), line(x - 4, bottom, x + 4, bottom)] };
}

function curveSeries(line, spec, tail) {
  const paint = colour(line.colour);
  const few = line.points.length <= 80;
  const distribution = spec.tail;
  const series = [{
    type: 'line', name: line.name, data: curvePoints(line, tail), color: paint,
    showSymbol: few && !distribution, symbol: 'circle', symbolSize: 6,
    step: distribution ? 'end' : false, connectNulls: true,
    lineStyle: { width: 1.8, color: paint, type: dashes(line.dash) },
    emphasis: { focus: 'series', lineStyle: { width: 2.6 } },
  }];
  if (line.spread.length > 0) {
    series.push({
      type: 'custom', name: line.name, silent: true, color: paint, data: groups(line.spread, 3),
      encode: { x: 0, y: [1, 2] }, renderItem: whisker, z: 1,
    });
  }
  return series;
}

// The ends of an axis of numbers, so that its first and last points are not on its frame.
function curveExtent(spec) {
  const all = spec.lines.flatMap((line) => groups(line.points, 2).map(([x]) => x));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  if (spec.tail) return logScale([low, high]);
  if (spec.x.log) return { min: low / 1.25, max: high * 1.25 };
  const room = (high - low) * 0.05 || 1;
  return { min: low - room, max: high + room };
}

function curveAxis(spec) {
  const look = axisLook();
  const names = new Map(spec.ticks.map(([at, text]) => [at, text]));
  const labels = names.size > 0
    ? { customValues: [...names.keys()], formatter: (value) => names.get(value) ?? nearest(names, value) }
    : {};
  const axis = valueAxis({ ...spec.x, max: null }, 'left', { ...curveExtent(spec), position: 'bottom', nameLocation: 'middle', nameGap: 26 });
  return {
    ...axis, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: style('--line') } },
    nameTextStyle: { ...look.nameTextStyle, align: 'center' },
    axisLabel: { ...axis.axisLabel, ...labels },
  };
}

// Logarithms do not restore the last digit of a number.
function nearest(names, value) {
  const found = [...names.keys()].find((at) => Math.abs(at - value) <= Math.abs(at) * 1e-6);
  return found === undefined ? '' : names.get(found);
}

// The logarithmic axis of a tail: powers of ten of the remaining share, the rare ones on top.
const tailAxis = (spec) => ({
  ...valueAxis({ ...spec.y, name: 'share of events that took longer', unit: '', log: true, max: 100 }, 'left', { min: 0.001, inverse: true, logBase: 10 }),
  nameLocation: 'start',
  axisLabel: { ...axisLook().axisLabel, formatter: tailLabel },
});

// From 0 to above the highest value, in round steps.
function linearCurve(spec) {
  const tops = spec.lines.flatMap((line) => [...groups(line.points, 2).map(([, y]) => y), ...groups(line.spread, 3).map(([, , high]) => high)]);
  const reach = spec.tail ? 100 : Math.max(0, ...tops);
  const step = roundStep(reach);
  return { min: 0, interval: step, max: step * Math.ceil(reach / step - 1e-9) || 1 };
}

function curvesOption(spec, toggles) {
  const tail = spec.tail && toggles.part === 'tail';
  const names = [...new Set(spec.lines.map((line) => line.name))];
  const rows = names.length > 1 ? legendRows(names) : 0;
  const y = tail ? tailAxis(spec) : valueAxis({ ...spec.y, max: spec.tail ? 100 : null }, 'left', spec.y.log ? logScale(spec.lines.flatMap((line) => groups(line.points, 2).map(([, value]) => value))) : linearCurve(spec));
  const head = (value) => (spec.ticks.length > 0 ? `${spec.x.name} ${nearest(new Map(spec.ticks), value)}` : withUnit(value, spec.x.unit));
  const valueText = (value) => (spec.tail ? (tail ? `${tailLabel(value)} took longer` : `${significant(value)} %`) : withUnit(value, spec.y.unit));
  return {
    ...base(),
    grid: { left: LEFT, right: 24, top: 34 + 20 * rows, bottom: 44 },
    legend: rows > 0 ? legendOf(names) : undefined,
    tooltip: tooltip('axis', (points) => {
      const list = (Array.isArray(points) ? points : [points]).filter((p) => p.seriesType === 'line');
      return list.length === 0 ? '' : tip(head(list[0].axisValue), list.map((p) => [p.color, p.seriesName || spec.y.name, valueText(p.value[1])]));
    }),
    xAxis: curveAxis(spec),
    yAxis: y,
    series: spec.lines.flatMap((line) => curveSeries(line, spec, tail)),
  };
}

// The height for box plots below each other.
const GROUP_HEIGHT = 36;
const groupsHeight = (spec) => spec.groups.length * GROUP_HEIGHT + 64;

// A random-looking number from 0 to 1 that depends only on the index.
const scattered = (index) => (((index + 1) * 0.6180339887498949) % 1);

function boxPlot(spec) {
  return (params, api) => {
    const { five, colour: number } = spec.groups[params.dataIndex];
    if (five[2] === null) return null;
    const [low, q1, median, q3, high] = five.map((value) => api.coord([value, params.dataIndex + 0.5])[0]);
    const middle = api.coord([0, params.dataIndex + 0.5])[1];
    const half = 8;
    const stroke = colour(number);
    const line = (x1, y1, x2, y2, lineWidth = 1.5) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth } });
    return {
      type: 'group',
      children: [
        line(low, middle, q1, middle), line(q3, middle, high, middle),
        line(low, middle - 4, low, middle + 4), line(high, middle - 4, high, middle + 4),
        { type: 'rect', shape: { x: q1, y: middle - half, width: Math.max(1, q3 - q1), height: 2 * half }, style: { fill: style('--shade'), stroke, lineWidth: 1.5 } },
        line(median, middle - half, median, middle + half, 3),
      ],
    };
  };
}

function groupsScale(all) {
  const top = Math.max(0, ...all.flatMap(({ dots, five }) => [...dots, five[4] ?? 0]));
  const step = roundStep(top);
  return { min: 0, interval: step, max: step * Math.ceil(top / step - 1e-9) || 1 };
}

function groupsOption(spec) {
  const { groups: all, axis } = spec;
  const left = narrow() ? 104 : Math.min(300, Math.max(96, ...all.map(({ name, heading }) => Math.max(name.length, heading.length) * 6.6 + 18)));
  const dots = all.map(({ dots: values, colour: number, name }, row) => ({
    type: 'scatter', name, symbolSize: 4, progressive: 0, itemStyle: { color: colour(number), opacity: printing ? 0.5 : 0.35 },
    data: values.map((value, i) => [value, row + 0.5 + (scattered(i) - 0.5) * 0.8]),
  }));
  // A line above each group that begins a section.
  const begins = all.map(({ heading }, row) => row > 0 && heading !== all[row - 1].heading).flatMap((isFirst, row) => (isFirst ? [{ yAxis: row }] : []));
  const words = ['lower whisker', 'lower quartile', 'median', 'upper quartile', 'upper whisker'];
  const named = (row) => {
    const { name, heading } = all[row] ?? { name: '', heading: '' };
    const first = heading && (row === 0 || all[row - 1].heading !== heading);
    return first ? `{heading|${heading}}\n${name}` : name;
  };
  const look = axisLook();
  return {
    ...base(),
    grid: { left, right: 24, top: 8, bottom: 44 },
    tooltip: tooltip('item', (point) => {
      if (point.seriesType !== 'custom') return tip(point.seriesName, [[point.color, 'a second', withUnit(point.value[0], axis.unit)]]);
      const { five, name, heading } = all[point.dataIndex];
      return tip([heading, name].filter(Boolean).join(', '), words.map((word, i) => [colour(all[point.dataIndex].colour), word, withUnit(five[i], axis.unit)]).reverse());
    }),
    xAxis: { ...valueAxis(axis, 'left', { position: 'bottom', nameLocation: 'middle', nameGap: 26, ...groupsScale(all) }), splitLine: look.splitLine, nameTextStyle: { ...look.nameTextStyle, align: 'center' } },
    yAxis: {
      type: 'value', min: 0, max: all.length, inverse: true, interval: 0.5, ...look, splitLine: { show: false },
      axisLabel: {
        ...look.axisLabel, color: style('--ink'), hideOverlap: false, width: left - 14, overflow: 'break', lineHeight: 13, align: 'right',
        formatter: (value) => (value % 1 === 0.5 ? named(Math.floor(value)) : ''),
        rich: { heading: { fontWeight: 600, fontSize: 11, lineHeight: 13, color: style('--soft') } },
      },
    },
    series: [
      ...dots,
      {
        type: 'custom', data: all.map(({ five }, row) => [five[2], row + 0.5]), renderItem: boxPlot(spec), z: 3, clip: true,
        markLine: { silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: style('--line'), type: 'solid', width: 1 }, data: begins },
      },
    ],
  };
}
