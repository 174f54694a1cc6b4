/**
 * How many images a body asks for (docs/rules/settlement-and-rows.md#cost): read under the names of all servers, in any spelling,
 * in the body and in what servers merge into it. It is read in the client's own bytes, so that of a name that comes twice both
 * count; of several numbers the largest counts: an upstream could use any of them.
 */
import { saturated } from "../../../shared/money/amount.ts";
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, pathUnitsOf, stringAt, stringPlaces } from "../wire/json/string-places.ts";
import { isCutName, isHolder, squashed, stepsOf } from "./steering-fields.ts";

/** As servers call it: OpenAI; SGLang, vLLM. */
const COUNTS: ReadonlySet<string> = new Set(
  ["n", "num_outputs_per_prompt", "num_images_per_prompt", "num_images"].map(squashed),
);

/** Whether the field of a form, such as `sampling_params[n]`, says how many images there are. */
export function isImageCount(name: string): boolean {
  return isCount(stepsOf(name));
}

/** At least 1. */
export function* imageCount(pieces: readonly Uint8Array[]): Steps<number> {
  const document = new BytePieces(pieces);
  const isWanted = (path: JsonPath): boolean => isCount(path.filter((step) => typeof step === "string"));
  const places = yield* stringPlaces(
    pieces,
    (path, isName) => !isName && isWanted(path),
    () => undefined,
    isWanted,
  );
  let most = 1;
  for (const { path, span } of places) {
    yield pathUnitsOf(path);
    most = Math.max(most, saturated(Number(yield* stringAt(document, span))));
  }
  return most;
}

function isCount(steps: readonly string[]): boolean {
  const last = steps.at(-1);
  return last !== undefined && (COUNTS.has(squashed(last)) || isCutName(last)) && steps.slice(0, -1).every(isHolder);
}
