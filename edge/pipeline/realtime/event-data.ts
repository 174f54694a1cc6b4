/**
 * The data of each event of a stream, one after another, however its bytes are split. Comments, events without data and events that
 * were cut off are left out.
 */
import { GatewayError } from "../../../shared/errors.ts";
import { CUT_OFF } from "../../domain/wire/sse/events.ts";

/** No event has more lines than about so many: whoever splits them does so in one piece. */
const LINES_MAX = 64 * 1024;

/** `hold` is called with how many bytes have come since the last event that ended; what it throws ends the stream. */
export async function* eventData(
  body: AsyncIterable<Uint8Array>,
  hold: (bytes: number) => void = () => undefined,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  let [heldBytes, heldLines] = [0, 0];
  let isAfterReturn = false;
  for await (const piece of body) {
    const given = decoder.decode(piece, { stream: true });
    const text = (isAfterReturn ? given.replace(/^\n/, "") : given).replace(/\r\n?/g, "\n");
    if (given !== "") isAfterReturn = given.endsWith("\r");
    const mayEnd = `${held.at(-1)?.at(-1) ?? ""}${text}`.includes("\n\n");
    if (text !== "") held.push(text);
    heldBytes += piece.byteLength;
    hold(heldBytes);
    heldLines += text.match(/\n/g)?.length ?? 0;
    if (heldLines > LINES_MAX) throw new GatewayError("upstream_failed", { cause: "an event of too many lines" });
    if (!mayEnd) continue;
    const { events, rest } = splitEvents(held.join(""));
    held = rest === "" ? [] : [rest];
    [heldBytes, heldLines] = [rest.length, 0];
    events.reverse();
    // one that is taken is held no longer
    for (let data = events.pop(); data !== undefined; data = events.pop()) yield data;
  }
}

/** The data of the ended events, and the rest. */
function splitEvents(text: string): { readonly events: string[]; readonly rest: string } {
  const events = text.split("\n\n");
  const rest = events.pop() ?? "";
  const lines = events
    .filter((event) => !`${event}\n\n`.endsWith(CUT_OFF))
    .map((event) => event.split("\n").filter((line) => line.startsWith("data:")));
  const datas = lines
    .filter(({ length }) => length > 0)
    .map((ofEvent) => ofEvent.map((line) => line.slice(line[5] === " " ? 6 : 5)).join("\n"));
  return { events: datas, rest };
}
