import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "@upstash/redis";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startRedisBridge } from "../../infra/local/redis/bridge.ts";
import { memoryBackend } from "../../infra/local/redis/memory-backend.ts";
import { storeKeys } from "../../shared/records.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { Cells } from "../kernel/cells/cells.ts";
import { HotStore } from "../kernel/hot-store/hot-store.ts";
import { getStats, type Stats } from "./get-stats.ts";

const live = { in_flight: 2, queued: 1, max_in_flight: 64 };
const DAY_MS = 86_400_000;

let control: TestControl;
let bridge: Awaited<ReturnType<typeof startRedisBridge>>;
let redis: Redis;
let server: Server;
let cells: Cells;

beforeAll(async () => {
  control = await startControl();
  bridge = await startRedisBridge({ backend: memoryBackend(), token: "t" });
  redis = new Redis({ url: bridge.url, token: "t", enableTelemetry: false });
  server = createServer((_, response) => {
    response.writeHead(200, { connection: "close" }).end(JSON.stringify({ cell: "own", ...live }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = { cell: "own", url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  cells = new Cells([own, { cell: "down", url: "http://127.0.0.1:9" }], "internal");
});
afterAll(async () => {
  await control.close();
  await bridge.close();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(async () => {
  await redis.del(storeKeys.cells);
});

const stats = async (query: Record<string, string> = {}, own = "own", url = bridge.url): Promise<Stats> =>
  await getStats(control.ctx, own, cells, new HotStore(url, "t"), query);

it("shows one cell when it is asked for", async () => {
  expect(await stats({ cell: "own" })).toEqual({ cell: "own", ...live });
  await expect(stats({ cell: "down" })).rejects.toMatchObject({ code: "cell_unreachable", status: 502 });
  await expect(stats({ cell: "nowhere" })).rejects.toMatchObject({ status: 404 });
  await expect(stats({}, "down")).rejects.toMatchObject({ status: 502 });
});

it("lists the last values of unreachable cells, and forgets them after a day", async () => {
  const last = { in_flight: 9, queued: 0, max_in_flight: 10, last_seen_ms: Date.now() - DAY_MS / 2 };
  await redis.hset(storeKeys.cells, {
    down: JSON.stringify(last),
    gone: JSON.stringify({ ...last, last_seen_ms: Date.now() - DAY_MS - 1000 }),
    own: JSON.stringify(last),
    broken: "{",
    other: JSON.stringify({ nonsense: 1 }),
  });
  expect(await stats()).toEqual({
    cell: "own",
    ...live,
    cells: [
      { cell: "down", ...last },
      { cell: "own", ...live, last_seen_ms: expect.toSatisfy((ms: number) => ms > last.last_seen_ms) },
    ],
  });
});

it("shows the cells that answer although the key-value store does not", async () => {
  const answer = await stats({}, "own", "http://127.0.0.1:9");
  expect(answer.cells?.map(({ cell }) => cell)).toEqual(["own"]);
});
