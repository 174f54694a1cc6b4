/** The data of each event of a stream, one after another, however its bytes are split. Comments and events without data are left out. */
import { LIMITS } from "../../../shared/catalogues/limits.ts";

/** Longest event, in characters: a message may have become longer on its way. */
const EVENT_MAX = 2 * LIMITS.realtimeMessage;

/** Throws when an event does not end. */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  let heldLength = 0;
  let isAfterReturn = false;
  for await (const piece of body) {
    const given = decoder.decode(piece, { stream: true });
    const text = (isAfterReturn ? given.replace(/^\n/, "") : given).replace(/\r\n?/g, "\n");
    if (given !== "") isAfterReturn = given.endsWith("\r");
    const mayEnd = `${held.at(-1)?.at(-1) ?? ""}${text}`.includes("\n\n");
    if (text !== "") held.push(text);
    heldLength += text.length;
    if (heldLength > EVENT_MAX) throw new Error("an event that never ends");
    if (!mayEnd) continue;
    const { events, rest } = splitEvents(held.join(""));
    held = rest === "" ? [] : [rest];
    heldLength = rest.length;
    events.reverse();
    // one that is taken is held no longer
    for (let data = events.pop(); data !== undefined; data = events.pop()) yield data;
  }
}

/** The data of the ended events, and the rest. */
function splitEvents(text: string): { readonly events: string[]; readonly rest: string } {
  const events = text.split("\n\n");
  const rest = events.pop() ?? "";
  const lines = events.map((event) => event.split("\n").filter((line) => line.startsWith("data:")));
  const datas = lines
    .filter(({ length }) => length > 0)
    .map((ofEvent) => ofEvent.map((line) => line.slice(line[5] === " " ? 6 : 5)).join("\n"));
  return { events: datas, rest };
}
