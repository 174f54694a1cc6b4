/**
 * One instance killed under a hundred streams: what becomes of each stream, of its slot and of its row. More requests arrive
 * after the kill than there are slots left, so that a slot which the next owner of the Cell does not know of is seen.
 */
import { expect } from "vitest";
import type { Minted } from "../harness/gateway.ts";
import type { TestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";
import type { Instance } from "./cluster.ts";

const STREAMS = 100;
const FURTHER = 60;

type StreamsLost = Awaited<ReturnType<typeof killUnderStreams>>;

type Killable = Pick<Instance, "gateway" | "kill">;

interface Stream {
  readonly through: Killable;
  requestId: string;
  chunks: number;
  end: "running" | "whole" | "lost";
  beganMs: number;
}

function follow(through: Killable, minted: Minted): Stream {
  const stream: Stream = { through, requestId: "", chunks: 0, end: "running", beganMs: 0 };
  const read = async (): Promise<void> => {
    const response = await through.gateway.chat(minted, { stream: true });
    stream.requestId = response.headers.get("x-gateway-request-id") ?? "";
    let text = "";
    for await (const chunk of response.body ?? []) {
      stream.beganMs ||= Date.now();
      stream.chunks += 1;
      text += Buffer.from(chunk as Uint8Array).toString("latin1");
    }
    if (response.status !== 200 || !text.trimEnd().endsWith("[DONE]")) throw new Error("not whole");
  };
  void read().then(
    () => (stream.end = "whole"),
    () => (stream.end = "lost"),
  );
  return stream;
}

/**
 * Kills `killed` under the streams of all `instances`; what happened is in the tables of docs/cluster.md#one-machine-lost-under-load. `upstreamUrl`: where they
 * reach the upstream.
 */
export async function killUnderStreams(
  instances: readonly Killable[],
  killed: Killable,
  upstream: TestUpstream,
  upstreamUrl = upstream.url,
) {
  const others: readonly Killable[] = instances.filter((each) => each !== killed);
  const [{ gateway }] = others as readonly [Killable, ...Killable[]];
  const minted = await gateway.mint(upstreamUrl, "chunks=100,pace=100", { max_in_flight: STREAMS });
  const start = (count: number, among: readonly Killable[]): readonly Stream[] =>
    Array.from({ length: count }, (_, at) => follow(among[at % among.length] as Killable, minted));
  const streams = start(STREAMS, instances);
  await waitFor(
    () => streams.filter(({ chunks }) => chunks > 10).length,
    (begun) => begun === STREAMS,
  );
  const killedMs = Date.now();
  await killed.kill();
  const further = start(FURTHER, others);
  const all = [...streams, ...further];
  await waitFor(
    () => all.filter(({ end }) => end === "running").length,
    (running) => running === 0,
  );
  const cutOff = streams.filter(({ end }) => end === "lost");
  const whole = all.filter(({ end }) => end === "whole");
  const owed = whole.map(({ requestId }) => requestId);
  const rows = await waitFor(
    async () => await gateway.requestIds(minted.tenant.id),
    (found) => owed.every((id) => found.includes(id)),
  );
  const calls = upstream.seen(minted.mark).filter((call) => call.done);
  return {
    whole: streams.length - cutOff.length,
    cutOff: cutOff.length,
    /** Streams through other instances that were cut off or refused. */
    othersHurt: all.filter(({ through, end }) => through !== killed && end === "lost").length,
    furtherServed: further.filter(({ end }) => end === "whole").length,
    /** From the kill until the first byte of a further request; Infinity: none was served. */
    servedAfterMs:
      Math.min(...further.map(({ end, beganMs }) => (end === "whole" ? beganMs : Number.POSITIVE_INFINITY))) - killedMs,
    /** Rows of streams of other instances and of further requests. */
    rowsExpected: owed.length,
    rowsFound: owed.filter((id) => rows.includes(id)).length,
    rowsOfCutOff: cutOff.filter(({ requestId }) => rows.includes(requestId)).length,
    doubled: rows.length - new Set(rows).size,
    /** The most calls of the upstream that ran at once, without those that were cut off. */
    mostAtOnce: Math.max(
      0,
      ...calls.map(({ fromMs: at }) => calls.filter(({ fromMs, untilMs }) => fromMs <= at && at < untilMs).length),
    ),
  };
}

/** What holds, whichever instance is killed. */
export function expectNothingLost(lost: StreamsLost): void {
  expect(lost).toMatchObject({ doubled: 0, rowsFound: lost.rowsExpected });
  expect(lost.mostAtOnce).toBeLessThanOrEqual(STREAMS);
}
