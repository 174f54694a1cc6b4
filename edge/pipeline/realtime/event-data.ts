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
  let datas: string[] = [];
  /** The pieces of the line that has not ended. */
  let held: string[] = [];
  let [heldBytes, heldLines] = [0, 0];
  let isAfterReturn = false;
  let isCutOff = false;
  for await (const piece of body) {
    const given = decoder.decode(piece, { stream: true });
    const known = isAfterReturn ? given.replace(/^\n/, "") : given;
    const text = known.includes("\r") ? known.replace(/\r\n?/g, "\n") : known;
    if (given !== "") isAfterReturn = given.endsWith("\r");
    heldBytes += piece.byteLength;
    hold(heldBytes);
    const [first = "", ...others] = text.split("\n", LINES_MAX + 2);
    heldLines += others.length;
    if (heldLines > LINES_MAX) throw new GatewayError("upstream_failed", { cause: "an event of too many lines" });
    held.push(first);
    let left = text.length - first.length;
    for (const begun of others) {
      left -= begun.length + 1;
      const line = held.join("");
      held = [begun];
      if (line !== "") {
        isCutOff = `\n${line}\n\n` === CUT_OFF;
        if (line.startsWith("data:")) datas.push(line.slice(line[5] === " " ? 6 : 5));
        continue;
      }
      [heldBytes, heldLines] = [left + begun.length, 0];
      const ended = isCutOff ? [] : datas;
      datas = [];
      // one that is taken is held no longer
      if (ended.length > 0) yield ended.join("\n");
    }
  }
}
