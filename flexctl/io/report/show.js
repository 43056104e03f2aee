// ---- what stands on the page, from its data
function charts(block) {
  const group = new Group(block.linked), node = make("div", {className: "charts"});
  if (block.film) { group.film = new Film(block.film, group); node.append(group.film.node); }
  group.charts = block.charts.map(spec => new Chart(spec, group));
  group.charts.forEach(chart => node.append(chart.node));
  return node;
}

dark.addEventListener("change", () => everything.forEach(x => x.draw()));
const D = JSON.parse(document.getElementById("data").textContent), main = document.getElementById("main");
D.blocks.forEach(block => {
  if (block.kind === "heading") main.append(make("h2", {textContent: block.text}));
  else if (block.kind === "text") main.append(make("p", {textContent: block.text, className: block.mood || ""}));
  else if (block.kind === "table") main.append(table(block));
  else if (block.kind === "films") main.append(make("div", {className: "charts"},
    ...block.films.map(film => new Film(film, new Group(false)).node)));
  else if (block.kind === "charts") main.append(charts(block));
});
