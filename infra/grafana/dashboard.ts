/** infra/grafana/dashboard.json, from the table of panels. One panel is one line of it. Pure. */

interface AnyPanel {
  readonly id: number;
  readonly title: string;
  readonly description: string;
  readonly unit: "reqps" | "short" | "ms" | "s" | "bytes" | "percentunit" | "cps" | "none";
  /** By legend: an expression. */
  readonly targets: Readonly<Record<string, string>>;
}

/** Curves over time. */
interface Chart extends AnyPanel {
  readonly max?: number;
  readonly isStacked?: true;
  /** It has a line to itself, below the others of its section. */
  readonly isWide?: true;
}

/** The newest value, as a number. */
interface Stat extends AnyPanel {
  /** By color: the value from which it holds, null for the lowest. */
  readonly steps: Readonly<Record<string, number | null>>;
  readonly hasCurve?: false;
}

type Panel = Chart | Stat;

/** Its panels share the width of the dashboard. */
export interface Section {
  readonly id: number;
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** The grid has 24 columns. */
const WIDTH = 24;
/** Height of a wide panel. */
const WIDE = 6;
const SOURCE = "datasource";
const DATASOURCE = { type: "prometheus", uid: `$\{${SOURCE}}` };
const CELLS = "label_values(gateway_cell_up, cell)";

const HEAD = {
  uid: "inference-gateway",
  title: "Inference gateway",
  description:
    "Traffic, latency, capacity, upstreams and usage rows of all cells. For figures by tenant, key and model, use the Management API.",
  tags: ["inference", "gateway"],
  schemaVersion: 41,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  timezone: "browser",
  templating: {
    list: [
      { type: "datasource", name: SOURCE, label: "Prometheus", query: "prometheus" },
      {
        type: "query",
        name: "cell",
        label: "Cell",
        datasource: DATASOURCE,
        query: { query: CELLS, refId: "cells" },
        definition: CELLS,
        refresh: 2,
        includeAll: true,
        multi: true,
        allValue: ".*",
        sort: 1,
      },
    ],
  },
  annotations: { list: [] },
  links: [],
};

/** The text of the file. */
export function dashboardText(sections: readonly Section[]): string {
  const head = Object.entries(HEAD).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  const panels = placed(sections).map((panel) => `    ${JSON.stringify(panel)}`);
  return ["{", ...head, '  "panels": [', panels.join(",\n"), "  ]", "}", ""].join("\n");
}

/** The title of each section and its panels, from the top down. */
function placed(sections: readonly Section[]): readonly object[] {
  let y = 0;
  return sections.flatMap(({ id, title, panels }) => {
    const gridPos = { h: 1, w: WIDTH, x: 0, y };
    const wide = panels.filter((panel) => "isWide" in panel);
    const narrow = panels.filter((panel) => !wide.includes(panel));
    const [h, w] = [narrow.some((panel) => "steps" in panel) ? 4 : 8, WIDTH / narrow.length];
    const top = y + 1;
    y = top + h + wide.length * WIDE;
    return [
      { type: "row", id, title, collapsed: false, gridPos, panels: [] },
      ...narrow.map((panel, at) => drawn(panel, { h, w, x: at * w, y: top })),
      ...wide.map((panel, at) => drawn(panel, { h: WIDE, w: WIDTH, x: 0, y: top + h + at * WIDE })),
    ];
  });
}

function drawn(panel: Panel, gridPos: object): object {
  const { id, title, description, targets } = panel;
  return {
    type: "steps" in panel ? "stat" : "timeseries",
    id,
    title,
    description,
    gridPos,
    datasource: DATASOURCE,
    targets: Object.entries(targets).map(([legendFormat, expr], at) => ({
      refId: "ABCDEFGH"[at],
      expr,
      legendFormat,
      datasource: DATASOURCE,
      editorMode: "code",
      range: true,
      instant: false,
    })),
    fieldConfig: { defaults: fieldOf(panel), overrides: [] },
    options: optionsOf(panel),
  };
}

function fieldOf(panel: Panel): object {
  const { unit } = panel;
  const thresholds = (steps: Readonly<Record<string, number | null>>) => ({
    mode: "absolute",
    steps: Object.entries(steps).map(([color, value]) => ({ color, value })),
  });
  if ("steps" in panel) return { unit, color: { mode: "thresholds" }, thresholds: thresholds(panel.steps) };
  return {
    unit,
    min: 0,
    ...(panel.max === undefined ? {} : { max: panel.max }),
    color: { mode: "palette-classic" },
    thresholds: thresholds({ green: null }),
    custom: {
      drawStyle: "line",
      fillOpacity: panel.isStacked ? 20 : 0,
      lineWidth: 1,
      showPoints: "never",
      stacking: { mode: panel.isStacked ? "normal" : "none", group: "A" },
    },
  };
}

function optionsOf(panel: Panel): object {
  if ("steps" in panel)
    return {
      colorMode: "value",
      graphMode: panel.hasCurve === false ? "none" : "area",
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
      textMode: "auto",
    };
  return {
    legend: { displayMode: "list", placement: "bottom", showLegend: true },
    tooltip: { mode: "multi", sort: "desc" },
  };
}
