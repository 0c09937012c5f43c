// ---- step times of several batches
const svgSpace = (() => {  // without an address in the page, which loads nothing
  const holder = document.createElement('div');
  holder.innerHTML = '<svg></svg>';
  return holder.firstChild.namespaceURI;
})();
function svg(name, attributes, parts) {
  const e = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...(parts || []));
  return e;
}
function plotOf(series, width) {
  const height = 210, left = 74, right = 10, top = 10, bottom = 40;
  const n = series[0].steps.length, most = Math.max(1, ...series.flatMap(s => s.steps));
  const unit = [1, 2, 2.5, 5, 10].map(f => f * 10 ** Math.floor(Math.log10(most / 4))).find(u => most / u <= 5);
  const end = unit * Math.ceil(most / unit);
  const x = b => left + (n > 1 ? b / (n - 1) : .5) * (width - left - right), y = t => top + (1 - t / end) * (height - top - bottom);
  const plot = svg('svg', {viewBox: '0 0 ' + width + ' ' + height, width, height, role: 'img', 'aria-label': 'Step time of each batch'});
  for (let t = 0; t <= end * 1.001; t += unit)
    plot.append(svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(t), y2: y(t)}),
                svg('text', {x: left - 8, y: y(t) + 4, 'text-anchor': 'end'}, [t > 0 ? timeText(t) : '0']));
  const every = Math.max(1, Math.ceil(n / Math.max(2, Math.floor((width - left) / 60))));
  for (let b = 0; b < n; b += every) plot.append(svg('text', {x: x(b), y: height - bottom + 18, 'text-anchor': 'middle'}, [String(b)]));
  plot.append(svg('text', {x: (left + width - right) / 2, y: height - 4, 'text-anchor': 'middle'}, ['batch']));
  series.forEach(({planner, steps}, k) => {
    plot.append(svg('polyline', {class: 'steps s' + k % 4, points: steps.map((t, b) => x(b) + ',' + y(t)).join(' ')}));
    steps.forEach((t, b) => plot.append(svg('circle', {class: 's' + k % 4, cx: x(b), cy: y(t), r: n > 200 ? 1.5 : 3},
        [svg('title', {}, [planner + ', batch ' + b + ': ' + timeText(t)])])));
  });
  return plot;
}
function showBatches() {
  const all = data.batches;
  $('batches').hidden = !all;
  if (!all) return;
  const names = element('p', all.series.map(({planner}, k) => element('span', [element('i', [], {className: 's' + k % 4}), planner], {className: 'key'})));
  $('batches').replaceChildren(element('h2', 'Step time of ' + all.series[0].steps.length + ' batches; lanes are of batch ' + all.shown), names);
  $('batches').append(plotOf(all.series, Math.max(240, $('batches').clientWidth - 30)));
}
window.addEventListener('resize', showBatches);
showBatches();
