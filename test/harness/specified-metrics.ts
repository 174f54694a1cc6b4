/**
 * The catalogue of metrics as a scraper has to find it. A difference between the two is a defect of the catalogue or of the
 * exporter.
 */
import { labelsOf, METRICS } from "../../shared/catalogues/metrics.ts";
import type { Exposition } from "./exposition.ts";

export interface SpecifiedMetric {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Label names other than `cell`, in alphabetical order. */
  readonly labels: readonly string[];
  /** Whether every cell reports it, with its name in the label `cell`; otherwise the control service does. */
  readonly of: "cell" | "control";
  /** Upper bounds in ms. */
  readonly bounds?: readonly number[];
  /**
   * How many series a cell has from the start: a counter whose labels have a closed list of values has all of them, with
   * the value 0. 0: the series appear with their events.
   */
  readonly fromStart: number;
}

/** A counter of a cell with another number of series than its labels have values: the other part reports the rest. */
const FROM_START: Readonly<Record<string, number>> = { gateway_build_info: 1, gateway_auth_failures_total: 1 };

/** How many series closed lists of values make; 0: one of the lists is open. */
const series = (values: readonly (readonly string[] | string)[]): number =>
  values.reduce<number>((product, list) => (typeof list === "string" ? 0 : product * list.length), 1);

export const SPECIFIED_METRICS: readonly SpecifiedMetric[] = Object.entries(METRICS).map(([name, metric]) => {
  const labels = labelsOf(metric);
  return {
    name,
    type: metric.type,
    of: metric.of,
    labels: Object.keys(labels).toSorted(),
    ...("bounds" in metric ? { bounds: metric.bounds } : {}),
    fromStart: metric.of === "control" ? 1 : (FROM_START[name] ?? series(Object.values(labels))),
  };
});

/** Name, type, label names in order, and the number of series of each cell; sorted by name. */
type Shown = readonly (readonly [string, string, readonly string[], readonly number[]])[];

const byName = (shown: Shown): Shown => shown.toSorted(([one], [two]) => (one < two ? -1 : 1));

export function shownMetrics({ families }: Exposition, cells: readonly string[]): Shown {
  const own = Object.entries(families).filter(([name]) => name.startsWith("gateway_"));
  return byName(
    own.map(([name, { type, data }]) => {
      const labels = [...new Set(data.flatMap((each) => Object.keys(each.labels)))].sort();
      const counts = cells.map((cell) => data.filter((each) => each.labels["cell"] === cell).length);
      return [name, type, labels, counts];
    }),
  );
}

/**
 * The same from the table. A metric whose series appear with their events has one series for each cell when `happened`
 * names it.
 */
export function specifiedMetrics(happened: readonly string[], cells: readonly string[]): Shown {
  return byName(
    SPECIFIED_METRICS.map(({ name, type, labels, of, fromStart }) => {
      const perCell = of === "cell" || name === "gateway_cell_up";
      const count = fromStart > 0 ? fromStart : Number(happened.includes(name));
      if (count === 0) return [name, type, [], cells.map(() => 0)];
      const all = perCell ? [...labels, "cell"].sort() : labels;
      return [name, type, all, cells.map(() => (perCell ? count : 0))];
    }),
  );
}
