/**
 * The memory that the translation of a stream keeps for a chunk (docs/rules/dialects.md#streams).
 *
 * @module-tag check
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { atOnce } from "../../../shared/steps.ts";
import { translationOf } from "./translation.ts";

const STREAMS = 16;
const CHUNK_BYTES = 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

it.each(["/v1/responses", "/v1/messages"])("it is less than a tenth of large chunks: %s", (path) => {
  const began = heapBytes();
  const streams = Array.from({ length: STREAMS }, (_, at) => {
    const translation = translationOf(path, "openai", { createdSecs: 1, usageAsked: true });
    const stream = translation?.stream();
    if (stream === undefined) throw new Error("no translation");
    const long = `${String(at)}${"x".repeat(CHUNK_BYTES)}`;
    const choice = { index: 0, delta: { content: "a" }, finish_reason: null };
    for (const chunk of [
      { id: "c", model: "m", other: long, choices: [choice] },
      { id: "c", model: "m", other: long, choices: [{ ...choice, finish_reason: "stop", other: long }] },
      { id: "c", model: "m", choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, other: long } },
    ])
      atOnce(stream.event(null, JSON.stringify(chunk)));
    return stream;
  });
  const keptBytes = heapBytes() - began;
  expect({ streams: streams.length, isLittle: keptBytes < (STREAMS * CHUNK_BYTES) / 10 }).toEqual({
    streams: STREAMS,
    isLittle: true,
  });
});
