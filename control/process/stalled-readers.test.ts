/** Clients that take nothing of what is waiting for them (docs/rules/console.md#stalled-readers). */
import { expect, it } from "vitest";
import { StalledReaders } from "./stalled-readers.ts";

/** A connection for which `waiting` of `written` bytes are still there, `inKernel` of them not yet with the kernel. */
function connection(written: number, waiting: number, inKernel = waiting) {
  return {
    bytesWritten: written,
    writableLength: waiting,
    _handle: { writeQueueSize: inKernel },
    isCut: false,
    destroy() {
      this.isCut = true;
      return this as never;
    },
  };
}

/** True once the client was cut off; `between` is called after each look. */
function isCutAfter(looks: number, socket: ReturnType<typeof connection>, between = () => undefined as unknown) {
  const readers = new StalledReaders();
  readers.add(socket);
  for (let nth = 0; nth < looks; nth += 1) {
    readers.look();
    between();
  }
  return socket.isCut;
}

it("are cut off when four quarters of the time have passed without a change", () => {
  expect(isCutAfter(4, connection(1000, 600))).toBe(false);
  expect(isCutAfter(5, connection(1000, 600))).toBe(true);
});

it("are cut off though the server writes more meanwhile", () => {
  const socket = connection(1000, 600, 300);
  const more = () => {
    socket.bytesWritten += 100;
    socket.writableLength += 100;
  };
  expect(isCutAfter(5, socket, more)).toBe(true);
});

it("stay while they take a part of one long write", () => {
  const socket = connection(1_000_000, 1_000_000);
  expect(isCutAfter(20, socket, () => (socket._handle.writeQueueSize -= 1))).toBe(false);
});

it("stay while nothing is waiting for them, such as the events of a slow model", () => {
  expect(isCutAfter(20, connection(1000, 0))).toBe(false);
});

it("have the whole time again after they have taken everything once", () => {
  const socket = connection(1000, 600);
  let looks = 0;
  const emptied = () => (socket.writableLength = ++looks % 4 === 0 ? 0 : 600);
  expect(isCutAfter(20, socket, emptied)).toBe(false);
});

it("are forgotten when their connection has ended", () => {
  const [socket, readers] = [connection(1000, 600), new StalledReaders()];
  readers.add(socket);
  readers.remove(socket);
  for (let nth = 0; nth < 9; nth += 1) readers.look();
  expect(socket.isCut).toBe(false);
});
