/** What settings ClickHouse gets with a read, and how long one that was left counts (docs/rules/usage-reads.md#readers-that-leave). */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { AnalyticsStore } from "./store.ts";

const LOOKS = 3;

/** A server with ClickHouse's interface whose statement is at work until it was looked at some times. */
async function storeBefore() {
  const seen = { isClosed: false, looks: 0, settings: {} as Record<string, string | null>, id: "" };
  const server = http.createServer((request, response) => {
    const { searchParams: search } = new URL(request.url ?? "", "http://store");
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString();
      if (text.includes("slow")) {
        seen.id = search.get("query_id") ?? "";
        for (const name of ["readonly", "max_execution_time", "cancel_http_readonly_queries_on_client_close"])
          seen.settings[name] = search.get(name);
        response.once("close", () => {
          seen.isClosed = true;
        });
      } else if (text.includes("system.processes")) {
        seen.looks += search.get("param_id") === seen.id ? 1 : 0;
        response.end(seen.looks < LOOKS ? '{"one":1}\n' : "");
      } else if (text.includes("usage_quarter") || search.get("param_table") === "usage_quarter")
        response.end('{"comment":"2026-01-01 00:00:00","as_select":""}\n');
      else response.end("");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const place = { url: `http://127.0.0.1:${port}`, db: "usage", user: "u", password: "p" };
  const store = new AnalyticsStore(place, pino({ level: "silent" }));
  onTestFinished(async () => {
    await store.close();
    server.closeAllConnections();
    server.close();
  });
  return { store, seen };
}

it("a read is one that ClickHouse cancels and bounds, and counts until it has ended", async () => {
  const { store, seen } = await storeBefore();
  const leaving = new AbortController();
  const read = store
    .until(leaving.signal)
    .rows("SELECT slow", {}, 5000)
    .catch((error: { code: string }) => ({ code: error.code, looks: seen.looks }));
  await waitFor(
    () => seen.id,
    (id) => id !== "",
  );
  leaving.abort();
  expect({ left: await read, isClosed: seen.isClosed, settings: seen.settings }).toEqual({
    left: { code: "analytics_unavailable", looks: LOOKS },
    isClosed: true,
    settings: { readonly: "2", max_execution_time: "5", cancel_http_readonly_queries_on_client_close: "1" },
  });
});
