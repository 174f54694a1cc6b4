/**
 * The way of one instance to the bucket, which a test makes slow or cuts. Bytes pass in order and are never read. While the
 * way is silent they are held, as by a network that drops packets and whose senders repeat them; while it refuses, connections
 * are reset.
 */
import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../infra/local/http/listen.ts";
import { passOn } from "./held-bytes.ts";

/** What a way does with what an instance sends: pass it on, hold it until another state is set, or reset the connection. */
type WayState = "open" | "silent" | "refuses";

export type BucketWay = Awaited<ReturnType<typeof openBucketWay>>;

export async function openBucketWay(bucketUrl: string) {
  const { hostname, port } = new URL(bucketUrl);
  const sockets = new Set<Socket>();
  let [state, delayMs] = ["open" as WayState, 0];
  let opened = Promise.withResolvers<void>();
  opened.resolve();

  const server = createServer({ allowHalfOpen: true }, (instance) => {
    if (state === "refuses") return void instance.resetAndDestroy();
    const bucket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const socket of [instance, bucket]) {
      socket.setNoDelay();
      sockets.add(socket);
    }
    const open = async (): Promise<void> => await opened.promise;
    passOn(instance, bucket, { open, delayMs: () => delayMs, closed: () => void sockets.delete(instance) });
    passOn(bucket, instance, { open, delayMs: () => 0, closed: () => void sockets.delete(bucket) });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    /** From now on. Opened again, it passes on what it held. */
    set: (next: WayState): void => {
      if (state === "silent") opened.resolve();
      if (next === "silent") opened = Promise.withResolvers();
      state = next;
      if (next === "refuses") for (const socket of sockets) socket.resetAndDestroy();
    },
    /** Delays what the instance sends from now on, so that each call takes so much longer, in ms. */
    slowBy: (ms: number): void => {
      delayMs = ms;
    },
    close: async (): Promise<void> => {
      opened.resolve();
      for (const socket of sockets) socket.destroy();
      await listening.close();
    },
  };
}
