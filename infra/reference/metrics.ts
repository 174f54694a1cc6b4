/** docs/reference/metrics.md, from the catalogue of metrics. Pure. */
import { labelsOf, METRICS, type MetricName } from "../../shared/catalogues/metrics.ts";
import { pageHead, table } from "./markdown.ts";

const INTRO =
  "`GATEWAY_METRICS_LISTEN` answers `/metrics` with the metrics of the control service and those of every cell that answers. Each sample of a cell, and of `gateway_cell_up`, has the label `cell`. The control service also has the usual metrics of its process (`process_*`, `nodejs_*`). [Watch](docs/watch.md#prometheus-and-grafana) says what to look at, the [rules](docs/rules/metrics.md) say how metrics count.";

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
    table(["metric", "kind", "labels", "reported by", "what it says"], rows),
    "\n## Labels\n",
    "Every value of a closed list is shown from the start, as 0. `cell` has the cells of `GATEWAY_CELLS`.\n",
    table(["label", "of", "values"], valueRows),
    "",
  ].join("\n");
}

function valuesText(values: readonly string[] | string): string {
  return typeof values === "string" ? values : `${values.length}: ${values.map((value) => `\`${value}\``).join(", ")}`;
}
