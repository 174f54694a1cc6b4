/**
 * Reads large lines of a batch's file without holding the thread of the control service (docs/rules/batches.md#validation): a line of
 * many small values takes most of a second to parse, so a thread of its own does that. It never changes what a line means.
 */
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { batchLineSchema } from "../../shared/schema/batch.ts";
import type { Steps } from "../../shared/steps.ts";
import { scanTopLevel } from "../../shared/wire/json-top-level.ts";

/** Above what a line can take, however small the machine is: to have too little would end the process. */
const MEMORY = { maxOldGenerationSizeMb: 1024 };
/** Some 2 ms of work. */
const UNITS_A_TURN = 64 * 1024;
/** More than any field may have: what is cut off does not change what is wrong with it. */
const TEXT_MAX_CHARACTERS = 1000;
const FIELDS = {
  textMax: TEXT_MAX_CHARACTERS,
  ofLine: Object.keys(batchLineSchema.shape),
  ofBody: Object.keys(batchLineSchema.shape.body.shape),
};
/** Answers a text with {@link LargeLines.outline} of it. */
const OUTLINE = `const { parentPort, workerData: { textMax, ofLine, ofBody } } = require("node:worker_threads");
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const short = (value) =>
  typeof value === "string" ? value.slice(0, textMax) : isObject(value) ? {} : Array.isArray(value) ? [] : value;
const some = (value, names) => isObject(value)
  ? Object.fromEntries(names.filter((name) => Object.hasOwn(value, name)).map((name) => [name, short(value[name])]))
  : short(value);
parentPort.on("message", (text) => {
  let line;
  try { line = JSON.parse(text); } catch { return parentPort.postMessage(undefined); }
  const outline = some(line, ofLine);
  if (isObject(outline.body)) outline.body = some(line.body, ofBody);
  parentPort.postMessage(outline);
});`;

/** The thread for the lines of one file. It starts with the first large line. */
export class LargeLines {
  #thread: { readonly worker: Worker; readonly gone: AbortSignal } | null = null;

  /**
   * The fields of a line that are validated, with long texts cut and without what is in other objects and lists. Undefined: it is no
   * JSON. Rejects when the thread fails, for example because it has no memory.
   */
  async outline(line: string): Promise<unknown> {
    this.#thread ??= started();
    const { worker, gone } = this.#thread;
    try {
      worker.postMessage(line);
      const [outline] = (await once(worker, "message", { signal: gone })) as [unknown];
      return outline;
    } catch (error) {
      this.end();
      throw error;
    }
  }

  end(): void {
    void this.#thread?.worker.terminate();
    this.#thread = null;
  }
}

function started(): { readonly worker: Worker; readonly gone: AbortSignal } {
  const gone = new AbortController();
  const worker = new Worker(OUTLINE, { eval: true, execArgv: [], workerData: FIELDS, resourceLimits: MEMORY });
  // an error that nobody listens to would end the process
  worker.on("error", () => undefined).on("exit", () => gone.abort());
  return { worker, gone: gone.signal };
}

/**
 * The body of a valid line as it stands there, read with turns of the event loop: parsed and written again, its numbers could differ.
 * Null: it has several.
 */
export async function bodyIn(text: string): Promise<string | null> {
  const line = Buffer.from(text);
  const top = await inTurns(scanTopLevel(line, (name) => name === "body"));
  const [body, another] = top?.members ?? [];
  return body === undefined || another !== undefined ? null : line.toString("utf8", body.value.start, body.value.end);
}

async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (let units = 0; ; ) {
    const step = steps.next();
    if (step.done === true) return step.value;
    units += step.value;
    if (units < UNITS_A_TURN) continue;
    units = 0;
    await nextTurn();
  }
}
