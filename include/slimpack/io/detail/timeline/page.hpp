#ifndef SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP
#define SLIMPACK_IO_DETAIL_TIMELINE_PAGE_HPP

namespace slimpack::io::detail {

/// What a timeline page shows before its data: style and elements. Its content policy forbids every request, so that
/// the page loads nothing wherever it is opened. Colours are told apart by readers with any colour vision: blue and
/// orange differ in hue and in lightness, as does their reddish purple (after Okabe and Ito, 2008).
inline constexpr char timeline_head[] = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>slimpack timeline</title>
<style>
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --line: #dfe3e8; --text: #1b2027; --muted: #5f6975; --accent: #2468a8;
  --lane: #e9ecf0; --grid: rgba(20, 30, 45, .10);
  --forward: #5aa5dc; --forward2: #2f7fbe; --backward: #f2ae49; --backward2: #d98a1c;
  --weights: #83c37f; --weights2: #4f9a4b;
  --output: #cc79a7; --output2: #a9558a; --embedding: #ebc3d9; --embedding2: #dca6c6;
  --ink: #10161d; --halo: #ffffff; --reduce: #98a2ad;
  --memory: #7b62b3; --memory-fill: rgba(123, 98, 179, .26); --limit: #b01e5f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1e25; --line: #2e343e; --text: #e6e9ee; --muted: #98a2b0; --accent: #6fb3ee;
    --lane: #262c35; --grid: rgba(230, 238, 250, .10);
    --forward: #56a3dd; --forward2: #2d77b3; --backward: #efa843; --backward2: #bf771a;
    --weights: #7dbb79; --weights2: #47853f;
    --output: #d084b0; --output2: #9f5183; --embedding: #e9c0d8; --embedding2: #d3a0bf;
    --ink: #ffffff; --halo: #0b0e12; --reduce: #707a86;
    --memory: #b49ae6; --memory-fill: rgba(180, 154, 230, .28); --limit: #ff6aa9;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 18px 22px 26px; background: var(--page); color: var(--text);
       font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 20px; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 13px; margin: 0 0 8px; }
.muted, header p { color: var(--muted); }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; margin-bottom: 12px; }
header p { margin: 0; overflow-wrap: anywhere; }
code { font: 12px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
#verdict { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 26px; padding: 8px 14px; margin-bottom: 10px; }
#verdict p { margin: 0; overflow-wrap: anywhere; }
#verdict strong { font-size: 19px; font-weight: 650; color: var(--accent); font-variant-numeric: tabular-nums; }
nav { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 12px; }
button, select { font: inherit; font-size: 13px; color: var(--text); background: var(--card);
                 border: 1px solid var(--line); border-radius: 6px; padding: 3px 9px; cursor: pointer; }
select { max-width: 100%; }
button:hover, select:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
nav button { padding: 6px 14px; }
nav button[aria-selected=true] { border-color: var(--accent); box-shadow: inset 0 -2px 0 var(--accent); }
nav span { color: var(--muted); margin-left: 8px; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(158px, 1fr)); gap: 10px; margin: 0 0 12px; }
dl > div, section, article { background: var(--card); border: 1px solid var(--line); border-radius: 9px; }
dl > div { padding: 9px 13px 10px; }
dt { color: var(--muted); font-size: 12px; }
dd { margin: 0; font-size: 19px; font-weight: 620; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
dd + dd { font-size: 12px; font-weight: 400; color: var(--muted); letter-spacing: 0; }
dd small { font-size: 13px; font-weight: 500; }
.over dd { color: var(--limit); }
#chart { padding: 10px 14px 12px; position: relative; }
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 16px; margin-bottom: 8px; font-size: 13px; }
.bar label { display: inline-flex; align-items: center; gap: 5px; cursor: pointer; }
.bar .space { flex: 1; }
.bar .group { display: inline-flex; gap: 4px; }
.key { display: inline-flex; align-items: center; gap: 6px; color: var(--muted); }
.key i { width: 22px; height: 12px; border-radius: 2px; }
.key .forward { background: linear-gradient(90deg, var(--forward) 50%, var(--forward2) 50%); }
.key .backward { background: linear-gradient(90deg, var(--backward) 50%, var(--backward2) 50%); }
.key .weights { background: linear-gradient(90deg, var(--weights) 50%, var(--weights2) 50%); }
.key .output { background: linear-gradient(90deg, var(--output) 50%, var(--output2) 50%); }
.key .embedding { background: linear-gradient(90deg, var(--embedding) 50%, var(--embedding2) 50%); }
.key .idle { background: var(--lane); border: 1px solid var(--line); }
.key .path { background: var(--ink); height: 3px; }
.key .held { background: var(--memory-fill); border-top: 2px solid var(--memory); }
.key .dashes { height: 2px; background: repeating-linear-gradient(90deg, var(--limit) 0 5px, transparent 5px 9px); }
.key .sum { background: var(--reduce); }
.key .shades { background: repeating-linear-gradient(90deg, var(--forward) 0 6px, var(--forward2) 6px 11px); }
canvas { display: block; width: 100%; touch-action: pan-y; }
#overview { height: 72px; cursor: ew-resize; }
#scroller { overflow-y: auto; position: relative; }
#lanes { position: sticky; top: 0; cursor: grab; }
#lanes:active { cursor: grabbing; }
#cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(390px, 100%), 1fr)); gap: 10px; margin-top: 12px;
         background: none; border: 0; }
article { padding: 11px 14px 12px; overflow-x: auto; }
#compared, #batches { grid-column: 1 / -1; }
#compared th:last-child, #compared td:last-child { text-align: left; padding-left: 26px; }
#compared td:last-child { white-space: normal; min-width: 190px; }
#batches p { margin: 0 0 6px; display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; }
#batches text { font-size: 12px; fill: var(--muted); font-variant-numeric: tabular-nums; }
#batches .grid { stroke: var(--line); }
#batches .steps { fill: none; stroke-width: 1.5; }
.s0 { stroke: var(--forward2); fill: var(--forward2); background: var(--forward2); }
.s1 { stroke: var(--backward2); fill: var(--backward2); background: var(--backward2); }
.s2 { stroke: var(--weights2); fill: var(--weights2); background: var(--weights2); }
.s3 { stroke: var(--output2); fill: var(--output2); background: var(--output2); }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--muted); font-weight: 400; }
td { text-align: right; padding: 3px 0 3px 12px; border-top: 1px solid var(--line); white-space: nowrap; }
th { padding: 0 0 3px 12px; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; min-width: 84px; }
tr.main td { font-weight: 620; }
td.over { color: var(--limit); }
.share { display: flex; height: 14px; border-radius: 4px; overflow: hidden; margin-bottom: 8px; gap: 1px; }
td i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 7px; }
kbd { font: 12px ui-monospace, Menlo, Consolas, monospace; border: 1px solid var(--line); border-radius: 4px;
      padding: 0 5px; background: var(--page); }
#keys p { margin: 0 0 5px; font-size: 13px; }
#dock { border-top: 1px solid var(--line); margin-top: 8px; padding-top: 8px; height: 124px; overflow-y: auto;
        font-size: 12.5px; font-variant-numeric: tabular-nums; }
#hint { margin: 0; }
#dock:has(#tip:not([hidden])) #hint { display: none; }
#tip b { display: block; font-size: 13.5px; }
#tip div { columns: 350px; column-gap: 26px; margin-top: 4px; }
#tip p { display: grid; grid-template-columns: 92px 1fr; gap: 0 10px; margin: 0; break-inside: avoid; }
#tip p span:first-child { color: var(--muted); overflow-wrap: anywhere; }
input[type=search] { font: inherit; font-size: 13px; width: 84px; color: var(--text); background: var(--card);
                     border: 1px solid var(--line); border-radius: 6px; padding: 3px 7px; }
#range button { margin-top: 8px; }
@media (max-width: 600px) {
  body { padding: 12px 10px 18px; }
  #chart { padding: 10px 8px; }
  dl { grid-template-columns: repeat(2, 1fr); }
  .bar .space { display: none; }
}
@media print {
  body { padding: 0; background: none; }
  .bar .group, .bar label, #keys { display: none; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
</style>
</head>
<body>
<header><h1>slimpack</h1><p id="subtitle"></p></header>
<section id="verdict" aria-label="How much faster"></section>
<nav id="tabs" role="tablist" aria-label="Plans of this batch"></nav>
<dl id="figures"></dl>
<section id="chart">
  <div class="bar">
    <span class="key"><i class="forward"></i>forward</span>
    <span class="key"><i class="backward"></i>backward</span>
    <span class="key weights"><i class="weights"></i>weight gradients</span>
    <span class="key vocabulary"><i class="output"></i>output layer (V, U)</span>
    <span class="key vocabulary"><i class="embedding"></i>embedding (E, G)</span>
    <span class="key"><i class="idle"></i>idle</span>
    <span class="key critical"><i class="path"></i>critical path</span>
    <span class="key memory strips"><i class="held"></i><span id="held"></span></span>
    <span class="key limit strips"><i class="dashes"></i><span id="limit"></span></span>
    <span class="key reduce"><i class="sum"></i>weights and gradients between replicas</span>
    <span class="key" id="shades"><i class="shades"></i>light and dark alternate from pack to pack; packs too thin to draw are dark</span>
    <span class="space"></span>
    <label>sequence <input type="search" id="sequence" inputmode="numeric" size="6" aria-label="Sequence to follow"
           title="Follow a sequence (/), Enter and n: its next pack"></label>
    <span class="muted" id="found" role="status"></span>
    <select id="replica" aria-label="Replicas shown"></select>
    <select id="below" aria-label="Plan shown below"></select>
    <label class="planned"><input type="checkbox" id="critical"> critical path</label>
    <label class="memory"><input type="checkbox" id="memory"> memory</label>
    <label class="several" title="So that lengths of steps compare; otherwise each plan fills the width"><input type="checkbox" id="same"> one time axis
      for all plans</label>
    <label class="tall" title="Higher lanes, with names and memory; they scroll (L)"><input type="checkbox" id="tall"> enlarge lanes</label>
    <span class="group">
      <button id="out" title="Zoom out (-)">&minus;</button>
      <button id="in" title="Zoom in (+)">+</button>
      <button id="fit" title="Show the whole step (0)">whole step</button>
    </span>
  </div>
  <canvas id="overview" role="img"></canvas>
  <div id="scroller"><canvas id="lanes" role="img"></canvas><div id="spacer"></div></div>
  <div id="dock"><p class="muted" id="hint">Point at a pack, at idle time or at memory. Shift and drag: totals of a range.</p>
    <div id="tip" role="status" hidden></div></div>
</section>
<section id="cards">
  <article id="range" hidden></article>
  <article id="batches" hidden></article>
  <article id="compared"></article>
  <article id="measured"></article>
  <article id="spent"></article>
  <article id="path"></article>
  <article id="bounds"></article>
  <article id="keys"><h2>Finding your way</h2>
    <p>Wheel, <kbd>+</kbd> <kbd>&minus;</kbd> or <kbd>W</kbd> <kbd>S</kbd> zooms, drag, <kbd>&larr;</kbd> <kbd>&rarr;</kbd> or
       <kbd>A</kbd> <kbd>D</kbd> moves, <kbd>0</kbd> shows the whole step.</p>
    <p><kbd>C</kbd> critical path, <kbd>M</kbd> memory, <kbd>L</kbd> higher lanes, <kbd>1</kbd> to <kbd>9</kbd> tabs,
       <kbd>Shift</kbd> + wheel, <kbd>&uarr;</kbd> <kbd>&darr;</kbd> scroll the lanes.</p>
    <p>Click a pack to keep its details. Then <kbd>&larr;</kbd> <kbd>&rarr;</kbd> go to what its stage runs before and after,
       <kbd>&uarr;</kbd> <kbd>&darr;</kbd> to where its message comes from and goes; <kbd>Esc</kbd> lets go.</p>
    <p><kbd>/</kbd> asks for a sequence to follow, <kbd>N</kbd> goes to its next pack. <kbd>Shift</kbd> + drag counts a range of
       time. The address holds the view: copy it to share.</p>
    <p class="muted">The light and the dark shade of a colour tell a pack from its neighbour and mean nothing else. Packs thinner
      than a pixel share it, in the dark shade: forward from the top, a spread vocabulary under it, backward from below, weight
      gradients over it, idle between.</p>
  </article>
</section>
<noscript>This page draws with JavaScript; it loads nothing from anywhere.</noscript>
)html";

}  // namespace slimpack::io::detail

#endif
