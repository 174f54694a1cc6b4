/**
 * `JSON.stringify` in steps, for values that `JSON.parse` may return: no other request runs while the engine writes. A member
 * without a value is left out.
 */
import type { Steps } from "../../../../shared/steps.ts";
import { concat } from "../bytes/byte-pieces.ts";

/** Characters that are written at once. */
const PART = 16 * 1024;
const CHARACTERS_PER_UNIT = 4;
/** Work for a value in addition to its characters, in units. */
const VALUE_UNITS = 8;
const STEP_UNITS = 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Counts bytes that have just been written. Throws when they are more than may be. */
export type TakeBytes = (bytes: number) => void;

/** A list or an object under way. */
interface Level {
  readonly of: Readonly<Record<string | number, unknown>>;
  /** The names of an object's members; null: a list. */
  readonly names: readonly string[] | null;
  /** Members and elements in all, looked at, and written. */
  readonly length: number;
  next: number;
  written: number;
}

/** The JSON of a value in UTF-8. Small values may be much longer as JSON than they came: `1e20` has 21 digits. */
export function* writtenInSteps(root: unknown, take: TakeBytes = () => undefined): Steps<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  const write = (json: string): void => {
    const part = encoder.encode(json);
    take(part.byteLength);
    parts.push(part);
  };
  const levels: Level[] = [];
  let [text, units] = ["", 0];
  for (let value: unknown = root; ; ) {
    const before = text.length;
    if (typeof value === "string" && value.length > PART) {
      write(`${text}"`);
      for (let at = 0; at < value.length; ) {
        // never between the halves of a pair
        const end = at + PART - (/[\ud800-\udbff]/.test(value.charAt(at + PART - 1)) ? 1 : 0);
        write(JSON.stringify(value.slice(at, end)).slice(1, -1));
        yield PART / CHARACTERS_PER_UNIT;
        at = end;
      }
      text = '"';
    } else if (typeof value === "object" && value !== null) {
      levels.push(levelOf(value));
      text += Array.isArray(value) ? "[" : "{";
    } else text += JSON.stringify(value ?? null);
    units += VALUE_UNITS + Math.max(text.length - before, 0) / CHARACTERS_PER_UNIT;
    if (units >= STEP_UNITS) {
      yield units;
      units = 0;
    }
    for (;;) {
      if (text.length >= PART) {
        write(text);
        text = "";
      }
      const level = levels.at(-1);
      if (level === undefined) {
        write(text);
        return concat(parts);
      }
      const { of, names, length, next } = level;
      if (next === length) {
        text += names === null ? "]" : "}";
        levels.pop();
        continue;
      }
      level.next += 1;
      const name = names?.[next];
      value = of[name ?? next];
      if (value === undefined && name !== undefined) continue;
      if (level.written > 0) text += ",";
      level.written += 1;
      if (name !== undefined) text += `${JSON.stringify(name)}:`;
      break;
    }
  }
}

/** The same as a text. */
export function* jsonInSteps(root: unknown, take?: TakeBytes): Steps<string> {
  return decoder.decode(yield* writtenInSteps(root, take));
}

function levelOf(value: object): Level {
  const names = Array.isArray(value) ? null : Object.keys(value);
  const { length } = names ?? (value as readonly unknown[]);
  return { of: value as Level["of"], names, length, next: 0, written: 0 };
}
