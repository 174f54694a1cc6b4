/** docs/reference/metrics.md, from the catalogue of metrics. Pure. */
import { labelsOf, METRICS, type MetricName } from "../../shared/catalogues/metrics.ts";
import { pageHead, table } from "./markdown.ts";

const INTRO =
  "`/metrics` at `GATEWAY_METRICS_LISTEN` has the metrics of the control service and of every cell that answers. Each sample of a cell, and of `gateway_cell_up`, has the label `cell`. The control service also exports the usual process metrics (`process_*`, `nodejs_*`). [Watch](docs/watch.md#prometheus-and-grafana) says what to look at, and the [rules](docs/rules/metrics.md) say how metrics count.";

/** The page. */
export function metricsPage(): string {
  const names = Object.keys(METRICS) as MetricName[];
  const rows = names.map((name) => {
    const metric = METRICS[name];
    const bounds = "bounds" in metric ? ` Upper bounds: ${metric.bounds.join(", ")}, +Inf.` : "";
    const labels = Object.keys(labelsOf(METRICS[name])).map((label) => `\`${label}\``);
    return [
      `\`${name}\``,
      metric.type,
      labels.join(", "),
      metric.of === "cell" ? "cells" : "control service",
      metric.help + bounds,
    ];
  });
  const labels = names.flatMap((name) =>
    Object.entries(labelsOf(METRICS[name])).map(([label, values]) => ({ name, label, values })),
  );
  const values = [...Map.groupBy(labels, ({ label }) => label)].toSorted(([one], [two]) => (one < two ? -1 : 1));
  const valueRows = values.flatMap(([label, all]) => {
    const lists = Map.groupBy(all, (each) => valuesText(each.values));
    return [...lists].map(([text, users]) => [`\`${label}\``, users.map(({ name }) => `\`${name}\``).join(", "), text]);
  });
  return [
    pageHead("Metrics", INTRO, ["shared/catalogues/metrics.ts"]),
    table(["metric", "kind", "labels", "reported by", "meaning"], rows),
    "\n## Labels\n",
    "Each value listed here is exported from the start, as 0. Values of `cell` are the names of the cells in `GATEWAY_CELLS`.\n",
    table(["label", "metrics", "values"], valueRows),
    "",
  ].join("\n");
}

function valuesText(values: readonly string[] | string): string {
  return typeof values === "string" ? values : `${values.length}: ${values.map((value) => `\`${value}\``).join(", ")}`;
}
