/**
 * The way of one instance to the bucket, which a test makes slow or cuts. Bytes pass in order and are never read. While the
 * way is silent they are held, as by a network that drops packets and whose senders repeat them; while it refuses, connections
 * are reset.
 */
import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../infra/local/http/listen.ts";

/** What a way does with what an instance sends: pass it on, hold it until another state is set, or reset the connection. */
type WayState = "open" | "silent" | "refuses";

/** A way to a bucket server. */
export interface BucketWay {
  readonly url: string;
  /** From now on. Opened again, it passes on what it held. */
  set(state: WayState): void;
  /** Delays what the instance sends from now on, so that each call takes so much longer, in ms. */
  slowBy(ms: number): void;
  close(): Promise<void>;
}

/** Opens a way to the server at `bucketUrl`. */
export async function openBucketWay(bucketUrl: string): Promise<BucketWay> {
  const { hostname, port } = new URL(bucketUrl);
  const sockets = new Set<Socket>();
  let [state, delayMs] = ["open" as WayState, 0];
  let opened = Promise.withResolvers<void>();
  opened.resolve();

  const pass = (from: Socket, to: Socket, ms: () => number): void => {
    let earlier = Promise.resolve();
    const later = (work: () => void): void => {
      const due = ms() === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms()));
      earlier = earlier.then(async () => {
        await due;
        await opened.promise;
        if (!to.destroyed) work();
      });
    };
    from.on("data", (chunk: Buffer) => later(() => to.write(chunk)));
    from.on("end", () => later(() => to.end()));
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      later(() => to.destroySoon());
    });
  };
  const server = createServer({ allowHalfOpen: true }, (instance) => {
    if (state === "refuses") return void instance.resetAndDestroy();
    const bucket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    for (const socket of [instance, bucket]) {
      socket.setNoDelay();
      sockets.add(socket);
    }
    pass(instance, bucket, () => delayMs);
    pass(bucket, instance, () => 0);
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    set: (next) => {
      if (state === "silent") opened.resolve();
      if (next === "silent") opened = Promise.withResolvers();
      state = next;
      if (next === "refuses") for (const socket of sockets) socket.resetAndDestroy();
    },
    slowBy: (ms) => {
      delayMs = ms;
    },
    close: async () => {
      opened.resolve();
      for (const socket of sockets) socket.destroy();
      await listening.close();
    },
  };
}
