(function () {
  "use strict";
  var D = JSON.parse(document.getElementById("data").textContent), SIDES = ["below", "above"];
  var WORDS = { below: "from below", above: "from above", difference: "difference" };
  var menus = ["trial", "layer", "head", "history"].map(function (id) { return document.getElementById(id); });

  function make(name, attributes, text) {
    var svg = ["svg", "rect", "text", "title"].indexOf(name) >= 0;
    var made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (text !== undefined) { made.textContent = text; }
    return made;
  }
  function put(parent) {
    parent.replaceChildren.apply(parent, Array.prototype.slice.call(arguments, 1));
  }
  // Below, above, or below − above of nested numbers, in units.
  function pick(pair, history) {
    var one = pair[history === "above" ? 1 : 0], other = history === "difference" ? pair[1] : null;
    function walk(a, b) {
      if (Array.isArray(a)) { return a.map(function (x, i) { return walk(x, b && b[i]); }); }
      return (b === null ? a : a - b) / D.steps;
    }
    return walk(one, other);
  }
  function signed(x, digits) {
    var text = Math.abs(x).toFixed(digits);
    return (Number(text) === 0 ? "" : x < 0 ? "−" : "+") + text;
  }
  function largest(matrix) {
    return matrix.reduce(function (m, row) { return row.reduce(function (n, x) { return Math.max(n, Math.abs(x)); }, m); }, 0);
  }
  function rgb(hex) { return [1, 3, 5].map(function (i) { return parseInt(hex.slice(i, i + 2), 16); }); }
  function colour(x, end, scale) {
    var at = 0.5 + 0.5 * Math.max(-1, Math.min(1, x / end)), i = 1;
    while (i < scale.length - 1 && scale[i][0] < at) { i += 1; }
    var share = (at - scale[i - 1][0]) / (scale[i][0] - scale[i - 1][0]), a = rgb(scale[i - 1][1]), b = rgb(scale[i][1]);
    return "rgb(" + a.map(function (one, k) { return Math.round(one + share * (b[k] - one)); }).join(",") + ")";
  }
  function ramp(from, end, scale) {
    var stops = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(function (i) { return colour(from + (end - from) * i / 8, end, scale); });
    var line = make("span", {}), bar = make("span", { class: "ramp", style: "background:linear-gradient(90deg," + stops + ")" });
    line.append(from < 0 ? signed(from, 2) : "0", bar, signed(end, 2));
    return line;
  }

  // A matrix as cells: rows and columns with names, some outlined; arrow keys and pointer read a cell.
  function map(place, matrix, rows, columns, options) {
    var box = document.getElementById(place), scale = D.scales[options.difference ? "difference" : "effect"];
    var left = 46, top = 36, width = Math.max(200, box.clientWidth);
    var cell = Math.max(5, Math.min(options.most, Math.floor((width - left) / columns.length)));
    var size = Math.max(8, Math.min(11, cell)), step = Math.ceil((size + 1) / cell), end = options.end || 1;
    var svg = make("svg", { width: left + cell * columns.length, height: top + cell * rows.length, tabindex: 0, role: "img" });
    svg.setAttribute("aria-label", options.label + ". Arrow keys read the cells.");
    svg.append(make("rect", { x: left, y: top, width: cell * columns.length, height: cell * rows.length, fill: "#e4e7eb" }));
    function label(text, i, across) {
      if (i % step && !text.bold) { return; }
      var x = across ? left + cell * (i + 0.5) : left - 5, y = across ? top - 5 : top + cell * (i + 0.5);
      var attributes = { x: x, y: y, "font-size": size, "dominant-baseline": "central", "text-anchor": across ? "start" : "end" };
      if (text.bold) { attributes["font-weight"] = 700; }
      if (across) { attributes.transform = "rotate(-90 " + x + " " + y + ")"; }
      svg.append(make("text", attributes, text.name));
    }
    rows.forEach(function (text, i) { label(text, i, false); });
    columns.forEach(function (text, i) { label(text, i, true); });
    var outlined = [];
    matrix.forEach(function (row, i) {
      row.forEach(function (x, j) {
        var at = { x: left + cell * j, y: top + cell * i, width: cell - 0.5, height: cell - 0.5, fill: colour(x, end, scale) };
        svg.append(make("rect", at));
        var mark = options.mark(i, j);
        if (mark) {
          var ring = { x: at.x + 0.5, y: at.y + 0.5, width: cell - 1.5, height: cell - 1.5, fill: "none", stroke: "#1f2328" };
          if (mark === "dashed") { ring["stroke-dasharray"] = "2 2"; }
          outlined.push(make("rect", ring));
        }
      });
    });
    outlined.forEach(function (ring) { svg.append(ring); });
    var cursor = make("rect", { width: cell, height: cell, fill: "none", stroke: "#d0006f", "stroke-width": 2, visibility: "hidden" });
    svg.append(cursor);
    var read = make("span", { "aria-live": "polite" }, options.hint), line = make("p", { class: "read" }), here = [-1, -1];
    function go(i, j) {
      if (i < 0 || j < 0 || i >= rows.length || j >= columns.length) { return; }
      here = [i, j];
      cursor.setAttribute("x", left + cell * j - 0.25);
      cursor.setAttribute("y", top + cell * i - 0.25);
      cursor.setAttribute("visibility", "visible");
      read.textContent = rows[i].name + options.joint + columns[j].name + ": " + signed(matrix[i][j], 3);
    }
    svg.addEventListener("pointermove", function (e) {
      var frame = svg.getBoundingClientRect(), zoom = svg.width.baseVal.value / frame.width;
      go(Math.floor(((e.clientY - frame.top) * zoom - top) / cell), Math.floor(((e.clientX - frame.left) * zoom - left) / cell));
    });
    svg.addEventListener("keydown", function (e) {
      var move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
      if (!move) { return; }
      e.preventDefault();
      if (here[0] < 0) { go(0, 0); } else { go(here[0] + move[0], here[1] + move[1]); }
    });
    line.append(read, ramp(options.from === 0 ? 0 : -end, end, scale));
    put(box, svg, line);
  }

  function plain(names) { return names.map(function (name) { return { name: name, bold: false }; }); }

  function question(trial, history) {
    var tokens = D.tokens[trial], n = tokens.length, query = tokens[n - 1], chips = [];
    for (var i = 0; i < n - 1; i += 2) {
      var asked = tokens[i] === query ? { class: "asked" } : {};
      chips.push(make("span", asked, D.names[tokens[i]] + "→" + D.names[tokens[i + 1]]));
    }
    chips.push(make("span", { class: "asked" }, D.names[query] + "→?"));
    ["contextual", "fixed"].forEach(function (rule) {
      var said = make("span", { class: "said" }, rule + " ");
      said.append(make("b", { class: rule }, D.names[D[rule][trial]]));
      chips.push(said);
    });
    put.apply(null, [document.getElementById("prompt")].concat(chips));
    put.apply(null, [document.getElementById("answers")].concat(SIDES.concat("difference").map(function (side) {
      var logits = pick([D.logits[0][trial], D.logits[1][trial]], side);
      var order = logits.map(function (x, k) { return k; }).sort(function (a, b) {
        return side === "difference" ? Math.abs(logits[b]) - Math.abs(logits[a]) : logits[b] - logits[a];
      });
      var row = make("tr", side === history ? { class: "chosen" } : {}), top = make("td");
      order.slice(0, 6).forEach(function (k) {
        var one = make("span", { class: "logit" }), rule = k === D.contextual[trial] ? "contextual" : k === D.fixed[trial] ? "fixed" : "";
        one.append(make("b", { class: rule }, D.names[k]), " " + signed(logits[k], 2));
        top.append(one);
      });
      row.append(make("td", { class: side }, WORDS[side]), make("td", {}, signed(pick([D.margin[0][trial], D.margin[1][trial]], side), 3)), top);
      return row;
    })));
  }

  function bars(trial, names, history, patterns) {
    var last = D.tokens[trial].length - 1, both = SIDES.map(function (side) { return pick(patterns, side)[last]; });
    var chosen = pick(patterns, history)[last];
    put.apply(null, [document.getElementById("bars")].concat(names.map(function (name, j) {
      var row = make("div", { class: name.bold ? "bar asked" : "bar" }), pair = make("div");
      both.forEach(function (values) { pair.append(make("i", { style: "width:" + (100 * values[j]).toFixed(2) + "%" })); });
      row.append(make("span", {}, name.name), pair, make("b", {}, history === "difference" ? signed(chosen[j], 3) : chosen[j].toFixed(3)));
      return row;
    })));
  }

  function draw() {
    var trial = Number(menus[0].value), layer = Number(menus[1].value), head = Number(menus[2].value), history = menus[3].value;
    var difference = history === "difference", name = "L" + menus[1].selectedOptions[0].text + "H" + menus[2].selectedOptions[0].text;
    var label = name + ", " + WORDS[history];
    Array.prototype.forEach.call(document.querySelectorAll(".which"), function (e) { e.textContent = label; });
    question(trial, history);
    var tokens = D.tokens[trial], n = tokens.length, query = tokens[n - 1], at = tokens.indexOf(query);
    var names = tokens.map(function (token, i) {
      return { name: D.names[token] + (i === n - 1 ? "→?" : ""), bold: i === n - 1 || i === at || i === at + 1 };
    });
    var patterns = [0, 1].map(function (side) { return D.pattern[side][trial][layer][head]; });
    var pattern = pick(patterns, history);
    map("pattern", pattern, names, names, {
      difference: difference, from: difference ? -1 : 0, end: difference ? largest(pattern) : 1, most: 26, joint: " attends to ",
      label: "Attention pattern of " + label, hint: "share of attention", mark: function () { return ""; }
    });
    bars(trial, names, history, patterns);
    var all = plain(D.names), values = all.slice(D.firstValue);
    [["qk", all, " for ", "attention score"], ["ov", values, " adds to ", "logits, unscaled"]].forEach(function (one) {
      var cut = one[0] === "ov" ? D.firstValue : 0;
      var heads = [0, 1].map(function (side) {
        return D[one[0]][side][layer][head].map(function (row) { return row.slice(cut); });
      });
      var matrix = pick(heads, history), end = difference ? largest(matrix) : Math.max(largest(pick(heads, "below")), largest(pick(heads, "above")));
      map(one[0], matrix, all, one[1], {
        difference: difference, end: end, most: one[0] === "ov" ? 20 : 28, joint: one[2], hint: one[3],
        label: one[0].toUpperCase() + " circuit of " + label,
        mark: function (i, j) { return i === j + cut ? "solid" : cut && i < cut && D.rule[i] === j + cut ? "dashed" : ""; }
      });
    });
  }
  menus.forEach(function (menu) { menu.addEventListener("change", draw); });
  var width = window.innerWidth;
  window.addEventListener("resize", function () { if (window.innerWidth !== width) { width = window.innerWidth; draw(); } });
  draw();
})();
