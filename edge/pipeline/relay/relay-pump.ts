/**
 * A relay whose bytes pass through JavaScript: for bodies that are scanned whole, or streams that a transform changes. With
 * back-pressure: nothing is read before the client has taken the earlier bytes. It always closes or aborts its writer
 * (docs/rules/streams.md#two-relays).
 */
import { CUT_OFF, KEEP_ALIVE } from "../../domain/wire/sse/events.ts";
import { SseFilter } from "../../domain/wire/sse/sse-filter.ts";
import { ClientGone } from "../call/client-gone.ts";
import { StallWatch } from "../call/stall-watch.ts";
import { BatchingBodyReader, BegunBodyReader, type BodyReader, PlainBodyReader } from "./body-reader.ts";
import { ClientWriter, writeStreamError } from "./client-writer.ts";
import type { BodyEnd, RelayedBody, RelayJob } from "./relay-job.ts";

/** Most bytes of one write: the stalled-reader limit counts for each write. */
const WRITE_MAX_BYTES = 64 * 1024;

/** Starts pumping; `given`: the reader of the replacement that goes to the client instead of the body. */
export function relayPump(job: RelayJob, given: BodyReader | null = null): RelayedBody {
  const { readable, writable } = new IdentityTransformStream();
  const client = new ClientWriter(job, writable.getWriter());
  const reader = given ?? new BegunBodyReader(job.head, readerOf(job), job.cancellation.idle, job.isWhole);
  // Changed or generated data is sent as whole events; anything else as it comes.
  const filter = job.events && (given !== null || job.transforms.length > 0) ? new SseFilter(job.transforms) : null;
  return { readable, ended: pump(job, reader, client, filter).finally(() => client.release()) };
}

function readerOf({ body, events, clock }: RelayJob): BodyReader {
  return events ? new BatchingBodyReader(body, clock) : new PlainBodyReader(body);
}

/** Moves the body to the client. Never rejects. */
async function pump(
  job: RelayJob,
  reader: BodyReader,
  client: ClientWriter,
  filter: SseFilter | null,
): Promise<BodyEnd> {
  let isOver = false;
  let comment: Promise<unknown> = Promise.resolve();
  const quiet = new StallWatch(job.timer, job.clock, filter === null ? 0 : job.keepAliveMs, () => {
    comment = client.write(KEEP_ALIVE).then(
      () => isOver || quiet.begin(),
      // The next write finds that the client has left.
      () => undefined,
    );
  });
  const stop = (): void => {
    isOver = true;
    quiet.end();
  };
  const write = async (given: Uint8Array): Promise<void> => {
    let bytes = given;
    if (bytes.byteLength === 0) return;
    quiet.done();
    await comment;
    job.onClient(bytes);
    // A slow client takes a large piece in parts: each of them shows that it reads.
    for (; bytes.byteLength > WRITE_MAX_BYTES; bytes = bytes.subarray(WRITE_MAX_BYTES))
      await client.write(bytes.subarray(0, WRITE_MAX_BYTES));
    // The last piece is known to be the last before it is written, so that only the close is awaited.
    if (reader.ended) client.writeLast(bytes);
    else await client.write(bytes);
    quiet.begin();
  };
  try {
    quiet.begin();
    for (let bytes = await reader.next(); bytes !== null; bytes = await reader.next()) {
      const noted = job.onUpstream(bytes);
      if (noted !== undefined) await noted;
      const moved = bytes.byteLength;
      await write(filter === null ? bytes : filter.push(bytes));
      const turn = job.turns.after(moved);
      if (turn !== undefined) await turn;
    }
    if (filter !== null) await write(filter.finish());
    stop();
    await comment;
    await client.close();
    return "complete";
  } catch (error) {
    stop();
    const { clientGone, interrupted } = job.cancellation;
    const gone = clientGone || (error instanceof ClientGone && interrupted === null);
    // Without the filter the client may have half an event, after which it could not read the error.
    if (!gone && (await writeStreamError(job, client, filter === null ? CUT_OFF : ""))) return "broken";
    job.cancellation.abort();
    await reader.cancel();
    await client.abort();
    return gone ? "gone" : "broken";
  }
}
