/**
 * The dashboard and the alert rules: Grafana and Prometheus can read them, they name only metrics that the gateway has, and
 * they use every metric of it. A scrape checks the gateway's metrics against the same table
 * (test/faults/two-cells.test.ts).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { collectDefaultMetrics, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { labelsOf, METRICS } from "../../shared/catalogues/metrics.ts";
import { dashboardSchema, type Panel } from "../../test/harness/infra/dashboard-schema.ts";
import { ruleFileSchema, scrapeFileSchema } from "../../test/harness/infra/rules-schema.ts";
import { SPECIFIED_METRICS, type SpecifiedMetric } from "../../test/harness/specified-metrics.ts";

/** A match of a label; `value` is without its quotes. */
interface Matcher {
  readonly label: string;
  readonly value: string;
}

/** A selector: the name of the metric and the matches of its labels. */
interface Selected {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
}

interface Named {
  readonly selected: readonly Selected[];
  /** Labels of `by`, `without`, `on` and `ignoring`. */
  readonly grouped: readonly string[];
}

/** Reads an expression. Throws for an invalid one, with the position of the error. */
function readPromql(expression: string): Named {
  const selected: { metric: string; matchers: Matcher[] }[] = [];
  const grouped: string[] = [];
  let label = "";
  parser.parse(expression).iterate({
    enter: ({ type, from, to, node }) => {
      const text = expression.slice(from, to);
      const within = node.parent?.name;
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expression.slice(Math.max(0, from - 20), to + 20)}`);
      if (type.name === "VectorSelector") selected.push({ metric: "", matchers: [] });
      const last = selected.at(-1);
      if (type.name === "Identifier" && within === "VectorSelector" && last !== undefined) last.metric = text;
      if (type.name === "LabelName" && within === "GroupingLabels") grouped.push(text);
      if (type.name === "LabelName" && within === "UnquotedLabelMatcher") label = text;
      if (type.name === "StringLiteral" && within === "UnquotedLabelMatcher")
        last?.matchers.push({ label, value: text.slice(1, -1) });
    },
  });
  return { selected, grouped };
}

const text = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const rules = ruleFileSchema.parse(parse(text("alerts.yml"))).groups.flatMap((group) => group.rules);
const dashboard = dashboardSchema.parse(JSON.parse(text("dashboard.json")));
const panels = dashboard.panels.filter((panel) => panel.type !== "row");

/** Replaces the variables that Grafana replaces before it sends an expression. */
const withVariables = (expression: string): string =>
  expression.replaceAll("$__rate_interval", "5m").replaceAll("$cell", "local|other");

const expressions = [
  ...rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })),
  ...panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({ where: `panel ${title}`, expr: withVariables(expr) })),
  ),
];
const named = expressions.map(({ where, expr }) => ({ where, expr, ...readPromql(expr) }));

const registry = new Registry();
collectDefaultMetrics({ register: registry });
const ofProcess = new Set(registry.getMetricsAsArray().map(({ name }) => name));
registry.clear();

/** The metric of a series; the series of a histogram have suffixes. */
function metricOf(series: string): SpecifiedMetric | undefined {
  return SPECIFIED_METRICS.find(({ name, type }) =>
    type === "histogram" ? ["_bucket", "_sum", "_count"].some((suffix) => series === name + suffix) : series === name,
  );
}

function seriesLabels(series: string): readonly string[] {
  const metric = metricOf(series);
  const own = [...(metric?.labels ?? []), ...(series.endsWith("_bucket") ? ["le"] : [])];
  return [...own, ...(metric?.of === "cell" || series === "gateway_cell_up" ? ["cell"] : []), "job", "instance"];
}

/** The values of labels that have a closed list of them, for every metric. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  job: ["gateway"],
  ...Object.fromEntries(
    [
      ...Map.groupBy(
        Object.values(METRICS).flatMap((metric) => Object.entries(labelsOf(metric))),
        ([label]) => label,
      ),
    ]
      .map(([label, all]) => [label, all.map(([, values]) => values)] as const)
      .filter(([, lists]) => lists.every((values) => typeof values !== "string"))
      .map(([label, lists]) => [label, lists.flat()]),
  ),
};

describe("a metric that the dashboard and the alerts name", () => {
  it("exists, and so do its labels", () => {
    const faults = named.flatMap(({ where, selected, grouped }) => [
      ...selected
        .filter(({ metric }) => metric !== "up" && metricOf(metric) === undefined && !ofProcess.has(metric))
        .map(({ metric }) => `${where}: no metric ${metric}`),
      ...selected.flatMap(({ metric, matchers }) =>
        matchers
          .filter(({ label }) => !seriesLabels(metric).includes(label))
          .map(({ label }) => `${where}: ${metric} has no label ${label}`),
      ),
      ...grouped
        .filter((label) => !selected.some(({ metric }) => seriesLabels(metric).includes(label)))
        .map((label) => `${where}: nothing has a label ${label}`),
    ]);
    expect(faults).toEqual([]);
  });

  it("is matched with values that occur", () => {
    const faults = named.flatMap(({ where, selected }) =>
      selected.flatMap(({ matchers }) =>
        matchers.flatMap(({ label, value }) =>
          value
            .split("|")
            .filter((one) => VALUES[label]?.includes(one) === false)
            .map((one) => `${where}: ${label} is never ${one}`),
        ),
      ),
    );
    expect(faults).toEqual([]);
  });

  it("is each metric that the gateway shows", () => {
    const used = new Set(named.flatMap(({ selected }) => selected.map(({ metric }) => metricOf(metric)?.name)));
    expect(SPECIFIED_METRICS.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([]);
  });

  it("counts a cell once, however many control services show it", () => {
    const twice = named.filter(({ expr, selected }: Named & { expr: string }) => {
      const ofCells = selected.some(({ metric }) => metricOf(metric)?.of === "cell");
      return ofCells && !/max by \([^)]*\bcell\b[^)]*\) \(/.test(expr);
    });
    expect(twice.map(({ where }) => where)).toEqual([]);
  });

  it("is read by its rate when it is a counter, and by its value when it is a gauge", () => {
    const faults = named.flatMap(({ where, expr, selected }) =>
      selected
        .filter(({ metric }) => ["counter", "histogram"].includes(metricOf(metric)?.type ?? "gauge"))
        .filter(({ metric }) => !new RegExp(`(rate|increase)\\(${metric}(\\{[^}]*\\})?\\[`).test(expr))
        .map(({ metric }) => `${where}: ${metric} is a counter`),
    );
    expect(faults).toEqual([]);
  });
});

describe("the alert rules", () => {
  it("have unique names, and say what to do when an operator must act at once", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    const silent = rules.filter(
      ({ labels, annotations }) => labels.severity === "critical" && !annotations.description,
    );
    expect(silent).toEqual([]);
  });

  it("name each its own runbook", () => {
    const wrong = rules.filter(
      ({ alert, annotations }) =>
        annotations.runbook_url !==
        `{{ or $externalLabels.gateway_docs "docs" }}/reference/alerts.md#${alert.toLowerCase()}`,
    );
    expect(wrong.map(({ alert }) => alert)).toEqual([]);
  });

  it("use in their texts only labels that the result still has", () => {
    const faults = rules.flatMap(({ alert, expr, annotations }) =>
      [...JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)]
        .map(([, label = ""]) => label)
        .filter((label) => !expr.includes(`(${label}`) && !expr.includes(`, ${label}`) && / by \(/.test(expr))
        .map((label) => `${alert}: ${label}`),
    );
    expect(faults).toEqual([]);
  });

  it("are loaded by the scrape configuration beside them, under the job that they name", () => {
    const { scrape_configs: jobs, rule_files: files } = scrapeFileSchema.parse(parse(text("prometheus.yml")));
    expect({ jobs: jobs.map(({ job_name: name }) => name), files }).toEqual({
      jobs: ["gateway"],
      files: ["alerts.yml"],
    });
  });
});

describe("the dashboard", () => {
  it("answers the questions of docs/watch.md, each panel one of them", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/watch.md"), "utf8");
    const [, after = ""] = page.split("\n| question ");
    const rows = (after.split("\n\n")[0] ?? "").split("\n").slice(2);
    const answering = rows.map((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, title = ""]) => title));
    expect(answering.filter((titles) => titles.length === 0)).toEqual([]);
    expect(answering.flat().toSorted()).toEqual(panels.map(({ title }) => title).toSorted());
  });

  it("has panels that do not overlap, with unique ids and titles", () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }: Panel) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(dashboard.panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  });

  it("uses only variables that it has", () => {
    const known = new Set(["__rate_interval", ...dashboard.templating.list.map(({ name }) => name)]);
    const used = [...JSON.stringify(dashboard.panels).matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("an invalid expression", () => {
  it.each(["sum by (cell (x)", "rate(x[5m)", "x{a=b}", "histogram_quantile(0.9, )) "])(
    "is refused: %s",
    (expression) => {
      expect(() => readPromql(expression)).toThrow(/no PromQL/);
    },
  );
});
