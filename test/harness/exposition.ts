/**
 * The text of `/metrics` as an independent reader understands it (prom2javascript), and rules of the format that this
 * reader does not check: each family in one piece with its HELP and TYPE before its samples, no series twice, buckets that
 * never fall.
 */
import { execFileSync } from "node:child_process";
import { getMetricsFromIterator, type PromData, type PromHistogramData, type PromMetrics } from "prom2javascript";
import { programPath } from "./program-path.ts";
import { waitFor } from "./wait-for.ts";

export type Exposition = Awaited<ReturnType<typeof readExposition>>;

type Labels = Readonly<Record<string, string>>;

export async function readExposition(text: string) {
  const lines = text.split("\n");
  const families = await getMetricsFromIterator(lines[Symbol.iterator]());
  const find = <T extends PromData | PromHistogramData>(name: string, labels: Labels) =>
    (families[name]?.data as T[] | undefined)?.find((each) => identity(each.labels) === identity(labels));
  return {
    families,
    /** The value of a counter or gauge with exactly these labels; undefined when there is none. */
    value: (name: string, labels: Labels): number | undefined => find<PromData>(name, labels)?.value,
    histogram: (name: string, labels: Labels) => find<PromHistogramData>(name, labels),
    /** The faults of the text; empty when there are none. */
    faults: [...faultsOfLines(lines), ...faultsOfSeries(families), ...faultsByPromtool(text)],
  };
}

/**
 * The text of a scrape in which all of these cells have answered. A cell has a second for that, and a busy machine takes longer:
 * then the scrape has no sample of it.
 */
export async function scrapeWith(cells: readonly string[], metricsUrl: string): Promise<string> {
  return await waitFor(
    async () => await (await fetch(`${metricsUrl}/metrics`)).text(),
    (text) => cells.every((cell) => text.includes(`\ngateway_cell_up{cell="${cell}"} 1\n`)),
  );
}

function identity(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([one], [two]) => (one < two ? -1 : 1)));
}

function faultsOfLines(lines: readonly string[]): readonly string[] {
  const faults: string[] = [];
  if (lines.at(-1) !== "") faults.push("the last line does not end");
  const closed = new Set<string>();
  let family = "";
  let stated: string[] = [];
  for (const line of lines) {
    const [, word, named = ""] = /^# (HELP|TYPE) (\S+) \S/.exec(line) ?? [];
    const name = word === undefined ? line.replace(/[{ ].*$/s, "") : named;
    const within = name === family || ["_bucket", "_sum", "_count"].some((suffix) => name === family + suffix);
    if (line === "") continue;
    if (!within) {
      closed.add(family);
      if (closed.has(name)) faults.push(`${name} is in several pieces`);
      family = name;
      stated = [];
    }
    stated.push(word ?? "sample");
    if (word === undefined && `${stated[0]} ${stated[1]}` !== "HELP TYPE")
      faults.push(`${name} has a sample before its type`);
    if (word !== undefined && stated.filter((each) => each === word).length > 1) faults.push(`${name}: ${word} twice`);
  }
  return faults;
}

function faultsOfSeries(families: PromMetrics): readonly string[] {
  return Object.entries(families).flatMap(([name, { type, help, data }]) => {
    const faults: string[] = [];
    if (!help) faults.push(`${name} has no help`);
    const series = data.map((each) => identity(each.labels));
    for (const twice of series.filter((each, at) => series.indexOf(each) !== at)) faults.push(`${name}${twice} twice`);
    if (type === "histogram")
      for (const each of data as PromHistogramData[]) if (!grows(each)) faults.push(`${name} is no histogram`);
    return faults;
  });
}

/**
 * Bounds ascend to +Inf, counts never fall, the last bucket has the count of all, and a sum above 0 needs a count above 0.
 */
function grows({ buckets, count, sum }: PromHistogramData): boolean {
  const entries = Object.entries(buckets).map(([le, hits]) => [le === "+Inf" ? Infinity : Number(le), hits] as const);
  const sorted = entries.toSorted(([one], [two]) => one - two);
  const cumulative = sorted.every(([, hits], at) => at === 0 || hits >= (sorted[at - 1]?.[1] ?? 0));
  const [last, all] = sorted.at(-1) ?? [];
  return cumulative && last === Infinity && all === count && sum !== undefined && (count > 0 || sum === 0);
}

/** Promtool's exit code when it only advises other names. */
const PROMTOOL_ADVICE = 3;
/** What it advises about names that docs/rules/metrics.md#families fixes. */
const KEPT_NAMES = new Set(
  ["gateway_ttft_ms", "gateway_total_ms"].map((name) => `${name} metric names should not contain abbreviated units`),
);

/** The output of Prometheus' own checker, on a machine that has it. */
function faultsByPromtool(text: string): readonly string[] {
  const promtool = programPath("promtool");
  if (promtool === undefined) return [];
  try {
    execFileSync(promtool, ["check", "metrics"], { input: text, stdio: ["pipe", "pipe", "pipe"] });
    return [];
  } catch (error) {
    const { status, stderr } = error as { status?: number; stderr?: Buffer };
    const said = (stderr?.toString() || "failed").trim().split("\n");
    return said
      .filter((line) => status !== PROMTOOL_ADVICE || !KEPT_NAMES.has(line))
      .map((line) => `promtool: ${line}`);
  }
}
