import { describe, expect, it } from "vitest";
import { SharedTimer } from "../call/shared-timer.ts";
import { dismiss } from "./sockets.ts";

const CLOSING = { code: 1013, reason: "realtime_backlog" };

/** A connection that the client keeps open. */
class KeptOpen extends EventTarget {
  readonly readyState = WebSocket.CLOSING;
  /** The errors that its listeners threw. */
  readonly thrown: unknown[] = [];

  close(): void {
    return;
  }

  override addEventListener(type: string, listener: () => void): void {
    super.addEventListener(type, () => {
      try {
        listener();
      } catch (error) {
        this.thrown.push(error);
      }
    });
  }
}

describe("a client whose session has ended", () => {
  it("may still send what is on its way, and is then cut off by the message after it", () => {
    const client = new KeptOpen();
    const timer = new SharedTimer(() => 0);
    dismiss(client as unknown as WebSocket, CLOSING, { timer, cutOff: () => undefined });
    for (let sent = 0; sent < 1_024; sent += 1) client.dispatchEvent(new Event("message"));
    expect(client.thrown).toEqual([]);
    client.dispatchEvent(new Event("message"));
    expect(client.thrown).toHaveLength(1);
    client.dispatchEvent(new Event("close"));
  });
});
