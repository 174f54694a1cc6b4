/** `npm run load`: a bounded load on a running gateway, and its results (docs/watch.md#load-tests). */
import { closeSync, openSync, writeFileSync } from "node:fs";
import Table from "cli-table3";
import { terminalText } from "../../shared/text/printable.ts";
import { type LoadFigures, type LoadTimes, loadFigures } from "./load-figures.ts";
import { loadPlot } from "./load-plot.ts";
import { requestOf, sendOne } from "./one-request.ts";
import { LOAD_USAGE, type LoadOptions, LoadOptionsError, parseLoadOptions } from "./options.ts";
import { runLoad } from "./run-load.ts";

const args = process.argv.slice(2);
if (args.includes("--help")) {
  say(LOAD_USAGE);
  process.exit(0);
}
process.exitCode = await load(optionsOf());

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

function optionsOf(): LoadOptions {
  try {
    return parseLoadOptions(args, process.env);
  } catch (error) {
    if (!(error instanceof LoadOptionsError)) throw error;
    complain(`${error.message}\n${LOAD_USAGE}`);
    return process.exit(2);
  }
}

/** The exit code: 1 when nothing was served. */
async function load(options: LoadOptions): Promise<number> {
  const stop = new AbortController();
  // A second signal ends the process at once, as it does without this.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const isFile = options.svgPath === null || canBeWritten(options.svgPath);
  if (!isFile) return 2;
  // One request shows a wrong key or model before thousands are sent.
  const first = await sendOne(options.baseUrl, requestOf(options), () => performance.now(), stop.signal);
  if (first.outcome !== "ok") {
    complain(`the first request was not served (${first.outcome}): check --url, --key and --model`);
    return 1;
  }
  const { concurrency, rate, durationMs, requestsMax } = options;
  const pace = rate === null ? `${concurrency} at once` : `${rate} a second, ${concurrency} at once at most`;
  const title = `${options.model}: ${pace}, ${durationMs / 1000} s or ${requestsMax} requests, ${new Date().toISOString()}`;
  say(terminalText(title));
  const figures = loadFigures(await runLoad(options, stop.signal));
  say(tableOf(figures));
  if (options.svgPath !== null) {
    writeFileSync(options.svgPath, loadPlot(figures, title));
    say(`plot: ${options.svgPath}`);
  }
  return figures.ok === 0 ? 1 : 0;
}

/**
 * Whether the plot can be written there; prints why not, so that an hour's load does not end in that error. The file keeps its
 * content.
 */
function canBeWritten(path: string): boolean {
  try {
    closeSync(openSync(path, "a"));
    return true;
  } catch (error) {
    complain(`--svg ${terminalText(path)} cannot be written (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
    return false;
  }
}

function tableOf(figures: LoadFigures): string {
  const { requests, ok, notSent, lastedMs, okPerSecond, outputTokensPerSecond, first, total, failures } = figures;
  const table = new Table({ style: { head: [], border: [] } });
  table.push(
    ["lasted", `${round(lastedMs / 1000)} s`],
    ["requests", `${requests}, ${ok} served`],
    ...(notSent === 0 ? [] : [["not sent: as many as may be were under way", String(notSent)]]),
    ["served a second", round(okPerSecond)],
    ["tokens out a second", round(outputTokensPerSecond)],
    ["first token", timesText(first)],
    ["whole answer", timesText(total)],
    ...failures.map(([outcome, count]) => [`not served: ${outcome}`, String(count)]),
  );
  return table.toString();
}

function timesText({ p50, p95, p99, max }: LoadTimes): string {
  if (p50 === null || p95 === null || p99 === null || max === null) return "-";
  return `p50 ${round(p50)} ms, p95 ${round(p95)}, p99 ${round(p99)}, max ${round(max)}`;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}
