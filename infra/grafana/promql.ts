/**
 * Expressions of the dashboard. A metric, a label or a value that the catalogue does not have does not compile. Every control
 * service reports every cell, so a cell's series are reduced to one (`max by`) before anything is summed.
 */
import { labelsOf, METRICS, type MetricName } from "../../shared/catalogues/metrics.ts";

type Labels<Name extends MetricName> = (typeof METRICS)[Name] extends { readonly labels: infer Named }
  ? Named
  : Record<never, never>;

/** Which series: by label, one value or several. */
type Where<Name extends MetricName> = { readonly job?: "gateway" } & {
  readonly [Label in keyof Labels<Name>]?: Labels<Name>[Label] extends readonly (infer Value extends string)[]
    ? Value | readonly Value[]
    : string;
};

type OfType<Type extends string> = {
  [Name in MetricName]: (typeof METRICS)[Name]["type"] extends Type ? Name : never;
}[MetricName];

type Value = OfType<"counter" | "gauge">;
type Histogram = OfType<"histogram">;

function isOfCells(name: MetricName): boolean {
  return METRICS[name].of === "cell" || name === "gateway_cell_up";
}

function select(name: MetricName, where: Readonly<Record<string, unknown>>, suffix = ""): string {
  const matchers = Object.entries(where).map(([label, value]) =>
    Array.isArray(value) ? `${label}=~"${value.join("|")}"` : `${label}="${String(value)}"`,
  );
  const all = isOfCells(name) ? ['cell=~"$cell"', ...matchers] : matchers;
  return `${name}${suffix}${all.length === 0 ? "" : `{${all.join(",")}}`}`;
}

const rate = (selected: string): string => `rate(${selected}[$__rate_interval])`;
const sumOf = (expression: string): string => `sum(${expression})`;

/** The value of a gauge, or the increase of a counter per second: one series for each cell and set of labels. */
export function each<Name extends Value>(name: Name, where: Where<Name> = {}): string {
  const metric = METRICS[name];
  const labels = Object.keys(labelsOf(metric));
  const selected = select(name, where);
  const value = metric.type === "counter" ? rate(selected) : selected;
  if (isOfCells(name)) return `max by (${["cell", ...labels].join(", ")}) (${value})`;
  return metric.type === "counter"
    ? value
    : `max by (${(labels.length === 0 ? ["job"] : labels).join(", ")}) (${value})`;
}

export function sum<Name extends Value>(name: Name, where: Where<Name> = {}): string {
  return sumOf(each(name, where));
}

export function sumBy<Name extends Value>(
  labels: readonly (keyof Labels<Name> & string)[],
  name: Name,
  where: Where<Name> = {},
): string {
  return `sum by (${labels.join(", ")}) (${each(name, where)})`;
}

/** How many series there are. */
export function count(name: Value): string {
  return `count(${each(name)})`;
}

export function quantile(part: number, name: Histogram): string {
  const buckets = `max by (cell, le) (${rate(select(name, {}, "_bucket"))})`;
  return `histogram_quantile(${part}, sum by (le) (${buckets}))`;
}

export function average(name: Histogram): string {
  const all = (suffix: string): string => sumOf(`max by (cell) (${rate(select(name, {}, suffix))})`);
  return `${all("_sum")} / ${all("_count")}`;
}
