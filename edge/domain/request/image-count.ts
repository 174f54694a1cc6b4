/**
 * How many images a body asks for (docs/rules/settlement-and-rows.md#cost): read under the names of all servers, in any
 * spelling, in the body and in what servers merge into it. Of several numbers the largest counts, because an upstream could use
 * any of them.
 */
import type { Steps } from "../../../shared/steps.ts";
import { BytePieces } from "../wire/bytes/byte-pieces.ts";
import { type JsonPath, stringPlaces, stringStartAt, type Way } from "../wire/json/string-places.ts";
import { printable } from "../wire/text/printable.ts";
import { type FieldFault, foldedName, numberTextFault } from "./client-fields.ts";
import { isCutName, isHolder, squashed, stepsOf } from "./steering-fields.ts";

/** As servers call it: OpenAI; SGLang, vLLM. */
const COUNTS: ReadonlySet<string> = new Set(
  ["n", "num_outputs_per_prompt", "num_images_per_prompt", "num_images"].map(squashed),
);
/** The field whose bounds each of them has. */
const BOUNDED = "n";
/** No body says it more often, each time in a few bytes. */
const TIMES_MAX = 16;
const NUMBER_MAX_BYTES = 64;
/** The longest name in an error, in characters. */
const NAME_MAX = 64;
/** A value that starts with these is neither a number, nor a text, nor null. */
const NO_NUMBER = "{[tf";

/** Whether the field, such as `num_images` or `sampling_params[n]`, says how many images there are. */
export function isImageCount(name: string): boolean {
  return WAY.below(WAY.top, name).isCount;
}

/** At least 1; or the fault of the first wrong number. */
export function* imageCount(pieces: readonly Uint8Array[]): Steps<number | FieldFault> {
  const document = new BytePieces(pieces);
  let [most, times]: [number, number] = [1, 0];
  let fault: FieldFault | null = null;
  const isWanted = (path: JsonPath, { isCount }: Known): boolean => {
    if (fault !== null || !isCount) return false;
    times += 1;
    if (times > TIMES_MAX)
      fault = { param: nameOf(path), message: "a body must not say so often how many images it asks for" };
    return fault === null;
  };
  const places = yield* stringPlaces(
    pieces,
    WAY,
    (path, isName, _span, known) => !isName && isWanted(path, known),
    (path, byte, known) => {
      if (NO_NUMBER.includes(String.fromCharCode(byte)) && isWanted(path, known))
        fault = numberTextFault(nameOf(path), "", BOUNDED);
    },
    isWanted,
  );
  for (const { path, span, isName: isNumber } of places) {
    const written = stringStartAt(document, span, NUMBER_MAX_BYTES);
    // a number may be written with a fraction or an exponent
    const text = isNumber ? `${Number(written)}` : written;
    fault ??= numberTextFault(nameOf(path), text, BOUNDED);
    most = Math.max(most, Number(text));
  }
  return fault ?? most;
}

interface Known {
  /** The last name says how many images there are; elements of a list count like the list. */
  readonly isCount: boolean;
  /** Members below may count: all names above are names of holders. */
  readonly isHolder: boolean;
}

const NO_HOLDER: Known = { isCount: false, isHolder: false };
const WAY: Way<Known> = {
  top: { isCount: false, isHolder: true },
  below: (up, step) => {
    if (typeof step === "number") return up;
    if (!up.isHolder) return NO_HOLDER;
    // to some servers, a name such as `num_images[0]` has several steps in JSON too
    const steps = stepsOf(foldedName(step));
    const last = steps.at(-1);
    if (last === undefined) return { isCount: false, isHolder: true };
    if (!steps.every((each, at) => at === steps.length - 1 || mayHold(each))) return NO_HOLDER;
    return { isCount: COUNTS.has(squashed(last)) || isCutName(last), isHolder: mayHold(last) };
  },
};

function mayHold(step: string): boolean {
  return isHolder(step) || isCutName(step);
}

function nameOf(path: JsonPath): string {
  return printable(path.filter((step) => typeof step === "string").join("."), NAME_MAX);
}
