import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** Above what an answer to a line can take, however small the machine is: to have too little would end the process. */
const MEMORY = { maxOldGenerationSizeMb: 1024 };
const PARSE = `const { parentPort, workerData } = require("node:worker_threads");
let isJson = true;
try { JSON.parse(workerData); } catch { isJson = false; }
parentPort.postMessage(isJson);`;

/** The answer as JSON without line breaks. Only for short ones: see {@link largeInOneLine}. */
export function inOneLine(answer: string): string {
  try {
    JSON.parse(answer);
    return written(answer, true);
  } catch {
    return asText(answer);
  }
}

/** The answer as a string of JSON, whatever it is. */
export function asText(answer: string): string {
  return written(answer, false);
}

/** The same. An answer of many small values takes seconds to parse, so a thread of its own does it. Rejects when that one fails. */
export async function largeInOneLine(answer: string): Promise<string> {
  const thread = new Worker(PARSE, { eval: true, execArgv: [], workerData: answer, resourceLimits: MEMORY });
  const [isJson] = (await once(thread, "message")) as [boolean];
  return written(answer, isJson);
}

/** In JSON, line breaks are only between values. */
function written(answer: string, isJson: boolean): string {
  return isJson ? answer.replace(/[\r\n]+/g, " ") : JSON.stringify(answer);
}
