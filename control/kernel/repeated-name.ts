/** Finds in the bytes of a JSON document an object that has a name twice: JSON.parse would keep the last value. Pure. */
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "../../shared/wire/ascii.ts";
import { stringEnd } from "../../shared/wire/json-skip.ts";

/** An object or list that is open at a place of the document. */
interface Open {
  /** The names so far; null: a list. */
  readonly names: Set<string> | null;
  /** The name or the place of the value that comes. */
  at: string | number;
}

/** The dotted path of the first name that its object has twice, or null. The bytes must be valid JSON. */
export function repeatedName(json: Uint8Array): string | null {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const open: Open[] = [];
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    const top = open.at(-1);
    if (byte === OPEN_BRACE) open.push({ names: new Set(), at: "" });
    else if (byte === OPEN_BRACKET) open.push({ names: null, at: 0 });
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) open.pop();
    else if (byte === COMMA && typeof top?.at === "number") top.at += 1;
    else if (byte === QUOTE) {
      const end = stringEnd(bytes, at + 1);
      if (top?.names && isName(bytes, end)) {
        top.at = textOf(bytes, at, end);
        if (top.names.has(top.at)) return open.map((one) => one.at).join(".");
        top.names.add(top.at);
      }
      at = end - 1;
    }
  }
  return null;
}

/** Whether a colon follows the string that ends here. */
function isName(bytes: Uint8Array, end: number): boolean {
  let at = end;
  while ((bytes[at] ?? COLON) <= 0x20) at += 1;
  return bytes[at] === COLON;
}

function textOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString("utf8", start + 1, end - 1);
  return bytes.subarray(start, end).includes(BACKSLASH) ? (JSON.parse(`"${text}"`) as string) : text;
}
