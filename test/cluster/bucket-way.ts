/**
 * The way of one instance to the bucket, which a test makes slow or cuts. Bytes pass in order and are never read. While the
 * way is silent they are held, as by a network that drops packets and whose senders repeat them; while it refuses, connections
 * are reset.
 */
import { openHeldWay } from "./held-bytes.ts";

/** What a way does with what an instance sends: pass it on, hold it until another state is set, or reset the connection. */
type WayState = "open" | "silent" | "refuses";

export type BucketWay = Awaited<ReturnType<typeof openBucketWay>>;

export async function openBucketWay(bucketUrl: string) {
  let [state, delayMs] = ["open" as WayState, 0];
  let opened = Promise.withResolvers<void>();
  opened.resolve();
  const hold = { open: async () => await opened.promise, delayMs: () => delayMs };
  const way = await openHeldWay(Number(new URL(bucketUrl).port), () => (state === "refuses" ? null : hold));
  return {
    url: way.url,
    /** From now on. Opened again, it passes on what it held. */
    set: (next: WayState): void => {
      if (state === "silent") opened.resolve();
      if (next === "silent") opened = Promise.withResolvers();
      state = next;
      if (next === "refuses") for (const socket of way.sockets) socket.resetAndDestroy();
    },
    /** Delays what the instance sends from now on, so that each call takes so much longer, in ms. */
    slowBy: (ms: number): void => {
      delayMs = ms;
    },
    close: async (): Promise<void> => {
      opened.resolve();
      await way.close();
    },
  };
}
