import { tmpdir } from "node:os";
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

it("raises nothing for a disk with room and a folder that is not there", async () => {
  const raised: RaisedAlert[] = [];
  const sink = { take: async (alerts: readonly RaisedAlert[]) => void raised.push(...alerts) };
  const log = pino({ level: "silent" });
  const folders = [
    { folder: "data", path: tmpdir(), variable: "GATEWAY_DATA_DIR" },
    { folder: "objects", path: "/nowhere/at/all", variable: "GATEWAY_WAL_PATH" },
  ] as const;
  await watchDisks({ folders, sink, cell: "here", log }, 0);
  expect(raised).toEqual([]);
});
