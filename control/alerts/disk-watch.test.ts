import { hostname, tmpdir } from "node:os";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { RaisedAlert } from "../kernel/alert-sink.ts";
import { isLow, roomText } from "../kernel/disk-room.ts";
import { watchDisks } from "./disk-watch.ts";

const GIB = 1024 ** 3;

it.each([
  { freeBytes: 0.4 * GIB, sizeBytes: 2 * GIB, low: true, text: "0.4 GiB, 20 %" },
  { freeBytes: 0.6 * GIB, sizeBytes: 2 * GIB, low: false, text: "0.6 GiB, 30 %" },
  { freeBytes: 4 * GIB, sizeBytes: 100 * GIB, low: true, text: "4.0 GiB, 4 %" },
  { freeBytes: 6 * GIB, sizeBytes: 100 * GIB, low: false, text: "6.0 GiB, 6 %" },
  { freeBytes: 0, sizeBytes: 100 * GIB, low: true, text: "0.0 GiB, 0 %" },
])("takes $text free for low: $low", ({ low, text, ...room }) => {
  expect({ low: isLow(room), text: roomText(room) }).toEqual({ low, text });
});

/** What a look raises when the folder of the objects is at `path`. */
async function raisedAt(path: string): Promise<readonly RaisedAlert[]> {
  const raised: RaisedAlert[] = [];
  const sink = { take: async (alerts: readonly RaisedAlert[]) => void raised.push(...alerts) };
  const log = pino({ level: "silent" });
  const folders = [
    { folder: "data", path: tmpdir(), variable: "GATEWAY_DATA_DIR" },
    { folder: "objects", path, variable: "GATEWAY_WAL_PATH" },
  ] as const;
  await watchDisks({ folders, sink, cell: "here", log }, 0);
  return raised;
}

it("raises nothing for a disk with room and a folder that is not there", async () => {
  expect(await raisedAt("/nowhere/at/all")).toEqual([]);
});

// a file system of the kernel, which never has room
it.runIf(process.platform === "linux")("raises an issue of its own machine for a disk without room", async () => {
  expect(await raisedAt("/proc")).toMatchObject([
    { issueKey: `disk_low:${hostname()}`, detail: expect.stringContaining("GATEWAY_WAL_PATH has 0.0 GiB") },
  ]);
});
