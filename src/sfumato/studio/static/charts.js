// Figures that the server made with plotly, shown in the colours of the page. Its script is loaded when it is needed first.

import { colour, dark, fill, make } from "./dom.js";

let script = null;

function plotly() {
  script ??= new Promise((done, failed) => {
    document.head.append(make("script", { src: "/plotly.js", onload: () => done(window.Plotly), onerror: failed }));
  });
  return script;
}

// Reports are on white paper; in the dark their inks change places with it.
const IN_THE_DARK = {
  "#222222": "#ecebe6", "#555555": "#a9b0b5", "#8a8a8a": "#8d959b", "#ffffff": "#1b2024", white: "#1b2024",
  "#9db7c9": "#56788e", "#dde6ec": "#2b3a45", "rgba(255,255,255,0.85)": "rgba(27,32,36,0.85)",
  "rgba(255,255,255,0.75)": "rgba(27,32,36,0.75)", "#eeeeee": "#2b3238", "#3f6b86": "#8fb7cf", "#0072b2": "#4cb0e8",
};

// Words in the colour of a mechanism, darkened for paper by the report.
const WORDS = { "#a67200": "#f0b840", "#005280": "#6fc0f0", "#007253": "#4fd0a8" };

function recoloured(value) {
  if (typeof value === "string") {
    const known = IN_THE_DARK[value.toLowerCase()];
    return known ?? value.replace(/(?<=color:)#[0-9a-f]{6}/g, (ink) => WORDS[ink] ?? ink);
  }
  if (Array.isArray(value)) return value.map(recoloured);
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, recoloured(part)]));
  return value;
}

export class Chart {
  constructor(host) {
    this.plot = make("div", { className: "plot", role: "img" });
    this.caption = make("p", { className: "caption" });
    fill(host, this.plot, this.caption);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.figure && this.show(this.figure, this.more));
  }

  /** Draw a figure; `more` are traces of the page, such as the point where we are. */
  async show(figure, more = []) {
    [this.figure, this.more] = [figure, more];
    const Plotly = await plotly();
    const drawn = dark() ? recoloured({ data: figure.data, layout: figure.layout }) : structuredClone(figure);
    const layout = {
      ...drawn.layout, height: figure.height, width: undefined, autosize: true, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", font: { ...drawn.layout.font, color: colour("ink") },
    };
    for (const axis of ["xaxis", "yaxis"]) {
      if (layout[axis]) Object.assign(layout[axis], { color: colour("ink"), linecolor: colour("soft"), automargin: true, fixedrange: true });
    }
    if (this.plot.clientWidth < 520) {
      layout.margin = { ...layout.margin, l: 56, r: 12 };
      layout.legend = { ...layout.legend, orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom" };
    }
    this.caption.textContent = text(figure.caption);
    this.plot.setAttribute("aria-label", text(figure.caption) || "A figure");
    await Plotly.react(this.plot, [...drawn.data, ...more], layout, { displaylogo: false, responsive: true, displayModeBar: false });
    return this.plot;
  }
}

/** Captions are escaped for plotly; here they are plain text again. */
const text = (escaped) => new DOMParser().parseFromString(escaped ?? "", "text/html").body.textContent;
