// A common cross-hair for all charts of a run, and keyboard control.

// Shows a line at the same time in every other chart of the run; hides it for null.
function cross(run, at, from) {
  for (const other of charts.values()) {
    if (!other.drawn || !zoomable(other) || runOf(other) !== run) continue;
    const line = other.cross ?? (other.cross = other.place.appendChild(element('i', { class: 'cross', hidden: '' })));
    const x = at === null || other === from ? null : other.drawn.convertToPixel({ xAxisIndex: 0 }, at);
    const area = x === null ? null : gridOf(other);
    line.hidden = x === null || !Number.isFinite(x) || x < area.left || x > area.right;
    if (line.hidden) continue;
    Object.assign(line.style, { left: `${x}px`, top: `${area.top}px`, height: `${area.bottom - area.top}px` });
  }
}

// The part of a chart within its axes, in pixels.
function gridOf({ drawn }) {
  const { left, right, top, bottom } = drawn.getOption().grid[0];
  return { left, right: drawn.getWidth() - right, top, bottom: drawn.getHeight() - bottom };
}

function setUpCross(chart) {
  if (!zoomable(chart)) return;
  const run = runOf(chart);
  const pad = chart.drawn.getZr();
  pad.on('mousemove', ({ offsetX, offsetY }) => {
    const within = chart.drawn.containPixel('grid', [offsetX, offsetY]);
    cross(run, within ? chart.drawn.convertFromPixel({ xAxisIndex: 0 }, offsetX) : null, chart);
  });
  pad.on('globalout', () => cross(run, null, chart));
}

// The point and series selected by a key, with its description.
function stations(chart) {
  const picked = chart.spec.of ? chart.spec.of[chart.choice][1] : chart.spec;
  const { kind } = chart.spec;
  if (kind === 'time') {
    const [first] = picked.lines;
    if (!first) return [];
    const value = (line, time) => {
      const place = DATA.times[line.x].indexOf(time);
      return place < 0 ? '–' : withUnit(line.y[place], picked.axes[line.axis].unit);
    };
    return DATA.times[first.x].map((time, dataIndex) => ({
      seriesIndex: 0, dataIndex, at: time,
      text: () => `${clock(time, true)}: ${picked.lines.map((line) => `${line.name} ${value(line, time)}`).join(', ')}`,
    }));
  }
  if (kind === 'groups') {
    const seriesIndex = picked.groups.length;
    return picked.groups.map(({ name, heading, five }, dataIndex) => ({
      seriesIndex, dataIndex, text: () => `${heading} ${name}: median ${withUnit(five[2], picked.axis.unit)}`,
    }));
  }
  const { rows, header } = tableOf(chart.spec, chart.choice);
  return rows.map((row, dataIndex) => ({
    seriesIndex: 0, dataIndex, text: () => row.map((field, i) => `${header[i]} ${cell(field)}`).join(', '),
  }));
}

const said = () => document.getElementById('said') ?? document.body.appendChild(element('p', { id: 'said', class: 'offscreen', 'aria-live': 'polite' }));

// Arrows go from point to point, Home and End to the first and the last, Escape leaves.
function onKey(chart, event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const all = stations(chart);
  const now = chart.station ?? -1;
  const stride = event.shiftKey ? Math.max(1, Math.round(all.length / 20)) : 1;
  const to = {
    ArrowRight: now + stride, ArrowDown: now + stride, ArrowLeft: now - stride, ArrowUp: now - stride, Home: 0, End: all.length - 1,
  }[event.key];
  if (event.key === 'Escape') letGo(chart);
  if (to === undefined || all.length === 0) return;
  event.preventDefault();
  if (!chart.drawn) draw(chart);
  chart.station = Math.min(all.length - 1, Math.max(0, to));
  const { seriesIndex, dataIndex, text, at } = all[chart.station];
  chart.drawn.dispatchAction({ type: 'showTip', seriesIndex, dataIndex });
  if (zoomable(chart) && at !== undefined) cross(runOf(chart), at, chart);
  said().textContent = text();
}

function letGo(chart) {
  chart.station = undefined;
  if (!chart.drawn) return;
  chart.drawn.dispatchAction({ type: 'hideTip' });
  if (zoomable(chart)) cross(runOf(chart), null, chart);
}

function setUpKeys(chart) {
  chart.place.addEventListener('keydown', (event) => onKey(chart, event));
  chart.place.addEventListener('blur', () => letGo(chart));
}
