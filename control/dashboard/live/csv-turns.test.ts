/** CSV through the console (docs/rules/console.md#live): each page of it is read within a turn, and a reader who leaves waits for none. */
import { Hono } from "hono";
import { expect, it } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { csvAnswer } from "../../api/csv-answer.ts";
import type { ApiTypes } from "../../api/types.ts";
import { managementLiveRoutes } from "../../app.ts";
import type { UserRow } from "../../db/schema/users.ts";
import { Live } from "./live.ts";

const AT_ONCE = 4;
const PERSON_AT_ONCE = 2;
const PAGES = 3;
const PATH = "/usage/logs";
const TENANT = "11111111-1111-4111-8111-111111111111";

const viewer = (id: string) =>
  ({ id, email: `${id}@example.org`, role: "viewer", tenant_id: TENANT, status: "active" }) as UserRow;

/** The console before a list whose every page is read on a signal, whatever its reader does. */
function consoleBefore() {
  const running: (() => void)[] = [];
  const seen = { begun: 0, running: 0, most: 0 };
  const pageRead = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    running.push(resolve);
    seen.begun += 1;
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    await promise;
    seen.running -= 1;
  };
  const app = new Hono<ApiTypes>();
  app.get(`/api/v1${PATH}`, async (c) => await csvAnswer(c, "usage-logs", ["page"], pages()));
  async function* pages() {
    for (let page = 1; page <= PAGES; page += 1) {
      await pageRead();
      yield [{ page }];
    }
  }
  const live = new Live({
    adminToken: "t",
    routes: managementLiveRoutes(),
    nowMs: () => 0,
    management: async (request) => await app.fetch(request),
  });
  const download = async (who: string, signal?: AbortSignal): Promise<Response> => {
    const request = new Request(`http://console/api/live${PATH}?format=csv`, signal === undefined ? {} : { signal });
    return await live.answer(request, PATH, { user: viewer(who), address: null });
  };
  const read = async (who: string): Promise<string> => await (await download(who)).text();
  /** Ends the read of so many pages, the oldest first, as they come. */
  const pagesCome = async (count: number): Promise<void> => {
    for (let nth = 0; nth < count; nth += 1) {
      await waitFor(
        () => running.length,
        (waiting) => waiting > 0,
      );
      running.shift()?.();
    }
  };
  return { download, read, seen, pagesCome };
}

const WHOLE = "page\r\n1\r\n2\r\n3\r\n";

it("all downloads of a person together have two pages at work, and each comes whole", async () => {
  const { read, seen, pagesCome } = consoleBefore();
  const all = Promise.all(Array.from({ length: 8 }, async () => await read("ann")));
  await pagesCome(8 * PAGES);
  expect({ texts: new Set(await all), most: seen.most }).toEqual({ texts: new Set([WHOLE]), most: PERSON_AT_ONCE });
});

it("the downloads of a tenant together have four pages at work", async () => {
  const { read, seen, pagesCome } = consoleBefore();
  const all = Promise.all(["ann", "amy", "abe", "ada"].flatMap((who) => [read(who), read(who), read(who)]));
  await pagesCome(12 * PAGES);
  expect({ texts: new Set(await all), most: seen.most }).toEqual({ texts: new Set([WHOLE]), most: AT_ONCE });
});

it("a page keeps its turn when its reader leaves, and no further page is read", async () => {
  const { download, read, seen, pagesCome } = consoleBefore();
  const leaving = new AbortController();
  const begun = Promise.all(Array.from({ length: PERSON_AT_ONCE }, async () => await download("ann", leaving.signal)));
  await pagesCome(PERSON_AT_ONCE);
  const readers = (await begun).map((answer) => (answer.body as ReadableStream<Uint8Array>).getReader());
  await Promise.all(readers.map(async (reader) => await reader.read()));
  const waiting = readers.map(async (reader) => await reader.read());
  await waitFor(
    () => seen.begun,
    (count) => count === 2 * PERSON_AT_ONCE,
  );
  leaving.abort();
  const cancelled = Promise.all(readers.map(async (reader) => await reader.cancel()));
  await Promise.all(waiting);
  const next = read("ann");
  const others = read("amy");
  await waitFor(
    () => seen.begun,
    (count) => count > 2 * PERSON_AT_ONCE,
  );
  const whileTheyRun = seen.running;
  await pagesCome(PERSON_AT_ONCE + 2 * PAGES);
  await cancelled;
  expect({ next: await next, others: await others, whileTheyRun, begun: seen.begun }).toEqual({
    next: WHOLE,
    others: WHOLE,
    whileTheyRun: PERSON_AT_ONCE + 1,
    begun: 2 * PERSON_AT_ONCE + 2 * PAGES,
  });
});
