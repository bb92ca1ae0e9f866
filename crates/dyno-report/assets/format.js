// Numbers with their units, in the same format as in Rust; colours from the style sheet.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const colour = (number) => style(`--c${number % 8}`);

function significant(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  const sign = value < 0 ? '−' : '';
  if (size >= 999.5) return sign + Math.round(size).toLocaleString('en-US');
  if (size >= 99.95) return sign + trim(size.toFixed(1));
  if (size >= 0.9995) return sign + trim(size.toFixed(2));
  if (size >= 0.000995) return sign + trim(size.toFixed(4));
  return sign + size.toExponential(2);
}

const trim = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

function stepped(value, step, units, suffix = '') {
  const sign = value < 0 ? '−' : '';
  let size = Math.abs(value);
  let unit = 0;
  while (size >= step * 0.9995 && unit + 1 < units.length) {
    size /= step;
    unit += 1;
  }
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${sign}${trim(size.toFixed(digits))} ${units[unit]}${suffix}`;
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function milliseconds(ms) {
  if (ms === 0) return '0 ms';
  return stepped(ms * 1e6, 1000, ['ns', 'µs', 'ms', 's']);
}

// A value with its unit.
function withUnit(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  switch (unit) {
    case 'bytes': return stepped(value, 1024, BINARY);
    case 'bytes/s': return stepped(value, 1024, BINARY, '/s');
    case 'percent': return `${significant(value)} %`;
    case 'ms': return milliseconds(value);
    case 'count': case 'ratio': case '': return significant(value);
    case 'count/s': return `${significant(value)}/s`;
    case 'mhz': return `${significant(value)} MHz`;
    default: return `${significant(value)} ${unit}`;
  }
}

// The same in short, for an axis whose name has the unit unless the label does.
function onAxis(value, unit) {
  if (unit === 'count' || unit === 'count/s' || unit === 'ratio' || unit === 'cores') {
    const size = Math.abs(value);
    if (size >= 1e9) return `${trim((value / 1e9).toFixed(2))} G`;
    if (size >= 1e6) return `${trim((value / 1e6).toFixed(2))} M`;
    if (size >= 1e3) return `${trim((value / 1e3).toFixed(2))} k`;
    return significant(value);
  }
  return withUnit(value, unit).replace(/\/s$/, '');
}

// The unit in an axis's name.
function unitName(unit) {
  const names = { 'count/s': 'per second', 'bytes/s': 'per second', percent: '%', mhz: 'MHz', ms: '', '': '' };
  if (unit === 'count') return 'count';
  return names[unit] ?? unit;
}

// Milliseconds from the start of the measurement: `4:05`, `1:00:00`, `−0:30`.
function clock(ms, fine = false) {
  const sign = ms < 0 ? '−' : '';
  const all = Math.abs(ms) / 1000;
  const whole = fine ? Math.floor(all + 1e-6) : Math.round(all);
  const two = (n) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const tenth = fine && all - whole > 0.05 ? `.${Math.floor((all - whole) * 10 + 1e-6)}` : '';
  return `${sign}${h > 0 ? `${h}:${two(m)}` : m}:${two(s)}${tenth}`;
}

// An element with text and children, never with markup from data.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
