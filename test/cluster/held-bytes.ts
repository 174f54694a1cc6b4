/** Bytes on their way from one socket to another, in order and never read, which a test can hold or delay. */
import type { Socket } from "node:net";

/** What a test does with the bytes. */
interface Hold {
  /** Resolves when they may pass; asked for each piece, after its delay. */
  readonly open: () => Promise<void>;
  /** By how much each piece is delayed, ms. */
  readonly delayMs: () => number;
  /** Called when the socket has closed. */
  readonly closed: () => void;
}

/** Passes on what comes from `from`, its end included. */
export function passOn(from: Socket, to: Socket, { open, delayMs, closed }: Hold): void {
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
  from.on("close", () => {
    closed();
    later(() => to.destroySoon());
  });
}
