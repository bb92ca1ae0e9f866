// Charts other than lines in time: heat maps and histograms.

const SHADES = {
  light: ['#e9edf2', '#bcd0e6', '#7fa6d0', '#4379b5', '#1f4e8c', '#0b2650'],
  dark: ['#1c2733', '#23466b', '#2f6fa8', '#54a0d6', '#9fd0f0', '#f2f9ff'],
};

// Groups of `size` of a flat list.
function groups(flat, size) {
  const out = [];
  for (let i = 0; i + size <= flat.length; i += size) out.push(flat.slice(i, i + size));
  return out;
}

function rectangle(params, api, [x0, x1, y0, y1], paint) {
  const [left, top] = api.coord([x0, y1]);
  const [right, bottom] = api.coord([x1, y0]);
  const area = params.coordSys;
  const from = Math.max(left, area.x);
  const to = Math.min(right, area.x + area.width);
  const high = Math.max(top, area.y);
  const low = Math.min(bottom, area.y + area.height);
  if (to <= from || low <= high) return null;
  // Half a pixel more avoids gaps between neighbours.
  return { type: 'rect', shape: { x: from, y: high, width: to - from + 0.5, height: low - high + 0.5 }, style: { fill: paint } };
}

function heatOption(spec) {
  const cells = groups(spec.cells, 3).map(([column, row, rate]) => [
    spec.columns[column][0] * 1000, spec.columns[column][1] * 1000,
    spec.rows[row], spec.rows[row + 1], Math.log10(rate), rate,
  ]);
  let [low, high] = [Infinity, -Infinity];
  for (const cell of cells) {
    low = Math.min(low, cell[4]);
    high = Math.max(high, cell[4]);
  }
  return {
    ...base(),
    grid: { left: LEFT, right: 20, top: 30, bottom: 68 },
    tooltip: tooltip('item', ({ value }) => tip(
      `${clock(value[0])} to ${clock(value[1])}`,
      [['transparent', `${milliseconds(value[2])} to ${milliseconds(value[3])}`, withUnit(value[5], 'count/s')]],
    )),
    xAxis: timeAxis(spec.run),
    yAxis: valueAxis({ name: 'latency', unit: 'ms', log: true, max: spec.rows[spec.rows.length - 1] }, 'left', { min: spec.rows[0] }),
    visualMap: {
      type: 'continuous', min: low, max: Math.max(high, low + 0.1), dimension: 4, calculable: false, orient: 'horizontal', left: 'center', bottom: 0,
      itemHeight: 160, itemWidth: 10, text: [`${withUnit(10 ** high, 'count/s')}`, `operations: ${withUnit(10 ** low, 'count/s')}`],
      textStyle: { color: style('--soft'), fontSize: 11 }, inRange: { color: SHADES[isDark() ? 'dark' : 'light'] },
    },
    dataZoom: zoomParts(spec.run, false),
    series: [{
      type: 'custom', progressive: 0, dimensions: ['from', 'to', 'low', 'high', 'shade', 'rate'],
      encode: { x: [0, 1], y: [2, 3] }, data: cells, clip: true,
      renderItem: (params, api) => rectangle(params, api, [0, 1, 2, 3].map((d) => api.value(d)), api.visual('color')),
    }],
  };
}

function distributionOption(spec, toggles) {
  const logarithmic = toggles.x === 'log';
  const countLog = toggles.y === 'log';
  const bars = groups(logarithmic ? spec.logarithmic : spec.linear, 3);
  const total = bars.reduce((sum, bar) => sum + bar[2], 0);
  const from = bars.length > 0 ? bars[0][0] : 0;
  const to = bars.length > 0 ? bars[bars.length - 1][1] : 1;
  const floor = countLog ? 0.5 : 0;
  const within = (ms) => ms >= from && ms <= to;
  const vertical = spec.percentiles.filter(([, ms]) => within(ms)).map(([name, ms]) => ({
    xAxis: ms, label: { formatter: name, position: 'end', color: style('--soft') },
    lineStyle: { color: style('--soft'), type: 'dashed' },
  }));
  const modes = spec.modes.filter((mode) => within(mode.at_ms)).map((mode) => ({
    xAxis: mode.at_ms, label: { formatter: mode.name, position: 'insideEndTop', color: colour(1), fontWeight: 600, backgroundColor: style('--panel'), padding: [2, 4] },
    lineStyle: { color: colour(1), type: 'solid', width: 1.5 },
  }));
  return {
    ...base(),
    grid: { left: LEFT, right: 24, top: 40, bottom: 44 },
    tooltip: tooltip('item', ({ value }) => tip(
      `${milliseconds(value[0])} to ${milliseconds(value[1])}`,
      [[colour(0), `${significant((100 * value[2]) / total)} %`, withUnit(value[2], 'count')]],
    )),
    xAxis: {
      ...valueAxis({ name: 'latency', unit: 'ms', log: logarithmic, max: to }, 'left', {
        min: from, position: 'bottom', nameLocation: 'middle', nameGap: 26,
      }),
      nameTextStyle: { ...axisLook().nameTextStyle, align: 'center' },
      splitLine: { show: false },
      axisLine: { show: true, lineStyle: { color: style('--line') } },
    },
    yAxis: valueAxis({ name: 'events in each bucket', unit: 'count', log: countLog }, 'left', { min: countLog ? 0.5 : 0 }),
    series: [
      {
        type: 'custom', dimensions: ['from', 'to', 'count'], encode: { x: [0, 1], y: [2] }, data: bars, clip: true, progressive: 0,
        renderItem: (params, api) => rectangle(params, api, [api.value(0), api.value(1), floor, api.value(2)], colour(0)),
      },
      {
        type: 'line', data: [], silent: true,
        markLine: { silent: true, symbol: 'none', data: [...vertical, ...modes], label: { fontSize: 10 } },
      },
    ],
  };
}

