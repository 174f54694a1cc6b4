/** A way to a port of loopback. Its bytes pass in order and are never read, and a test can hold or delay them. */
import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../infra/local/http/listen.ts";

/** What a test does with the bytes of a connection. */
interface Hold {
  /** Resolves when they may pass; asked for each piece, after its delay. */
  readonly open: () => Promise<void>;
  /** By how much each piece from the connecting side is delayed, ms. */
  readonly delayMs: () => number;
}

/** Opens it. `holdOf` is asked for each connection; null resets it. */
export async function openHeldWay(port: number, holdOf: (from: Socket) => Hold | null) {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (outer) => {
    const hold = holdOf(outer);
    if (hold === null) return void outer.resetAndDestroy();
    const inner = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    for (const socket of [outer, inner]) {
      socket.setNoDelay();
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    passOn(outer, inner, hold);
    passOn(inner, outer, { ...hold, delayMs: () => 0 });
  });
  const listening = await listen(server, "127.0.0.1", 0);
  return {
    url: listening.url,
    sockets: sockets as ReadonlySet<Socket>,
    close: async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await listening.close();
    },
  };
}

/** Passes on what comes from `from`, its end included. */
function passOn(from: Socket, to: Socket, { open, delayMs }: Hold): void {
  let earlier = Promise.resolve();
  const later = (work: () => void): void => {
    const ms = delayMs();
    const due = ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms));
    earlier = earlier.then(async () => {
      await due;
      await open();
      if (!to.destroyed) work();
    });
  };
  from.on("data", (chunk: Buffer) => later(() => to.write(chunk)));
  from.on("end", () => later(() => to.end()));
  from.on("error", () => to.destroy());
  from.on("close", () => later(() => to.destroySoon()));
}
