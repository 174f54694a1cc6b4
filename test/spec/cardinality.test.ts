/**
 * What clients make up grows neither the metrics nor the shape of the log (docs/watch.md#cardinality).
 *
 * @module-tag long
 */
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { readExposition, scrapeWith } from "../harness/exposition.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { rawRequest } from "../harness/raw-request.ts";
import { StackLog } from "../harness/stack-log.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
useMcp(fixture);
const log = new StackLog(inject("logFile"));

/** Of one cell, without those of MCP servers and identity providers. */
const CELL_SERIES_MAX = 150;
const CONTROL_SERIES_MAX = 100;
/** What is sent of each kind. */
const COUNT = 25;
const MODEL_TEXT_MAX = 200;

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

const scrape = async (): Promise<string> => await scrapeWith(["local"], inject("metricsUrl"));

/** The gateway's own series, as text, sorted. */
async function series(): Promise<readonly Series[]> {
  const { families } = await readExposition(await scrape());
  return Object.entries(families)
    .filter(([name]) => name.startsWith("gateway_"))
    .flatMap(([name, { data }]) =>
      data.flatMap((each) => {
        const buckets = "buckets" in each ? Object.keys(each.buckets).map((le) => ({ ...each.labels, le })) : [];
        return [{ name, labels: each.labels }, ...buckets.map((labels) => ({ name, labels }))];
      }),
    );
}

const asText = (all: readonly Series[]): readonly string[] => all.map((each) => JSON.stringify(each)).toSorted();

/** Everything that a client can name, made up again by each call. */
async function madeUp(minted: Minted, mark: string): Promise<void> {
  const at = (word: string): string => `${word}-${mark}-${randomUUID()}`;
  const { proxyUrl } = fixture.gateway;
  const headers = {
    authorization: `Bearer ${minted.secret}`,
    "content-type": "application/json",
    "user-agent": at("agent"),
    "x-session-id": at("session"),
    "x-request-id": at("request"),
    [at("x-header").slice(0, 60)]: at("value"),
    cookie: at("cookie"),
  };
  const body = JSON.stringify({ model: at("model").repeat(20), messages: [], user: at("user"), [at("field")]: 1 });
  const requests = [
    { method: "POST", path: "/v1/chat/completions", headers, body },
    { method: "POST", path: `/v1/${at("path")}?${at("query")}=1`, headers, body },
    { method: "GET", path: `/v1/models/${at("model")}`, headers },
    { method: "POST", path: `/mcp/${at("server")}/${at("tool")}`, headers, body },
    {
      method: "POST",
      path: "/v1/chat/completions",
      headers: { ...headers, authorization: `Bearer ${at("key")}` },
      body,
    },
  ];
  const answers = await Promise.all(requests.map(async (request) => await rawRequest(proxyUrl, request)));
  expect(answers.filter(({ status }) => status < 400)).toEqual([]);
}

/** The requests that the cell has counted. */
const counted = (text: string): number =>
  [...text.matchAll(/^gateway_requests_total\{[^}]*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);

describe("names that clients make up", () => {
  it("add no series, and their text is in none", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const mark = `made-up-${randomUUID()}`;
    const began = counted(await scrape());
    await madeUp(minted, mark);
    // series that stand for everything unknown are there after the first of each kind
    await waitFor(scrape, (text) => counted(text) > began && text.includes('server="unknown"'));
    const before = await series();
    for (let sent = 0; sent < COUNT; sent += 1) await madeUp(minted, mark);
    const after = counted(await scrape());
    await madeUp(minted, mark);
    await waitFor(scrape, (text) => counted(text) > after);
    const now = await series();
    expect(asText(now)).toEqual(asText(before));
    expect(JSON.stringify(now)).not.toContain(mark);
  });

  it("are logged only as a truncated model name, and add neither fields nor events", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url);
    const mark = `made-up-${randomUUID()}`;
    await madeUp(minted, mark);
    const lines = await waitFor(
      () => log.requests(minted.tenant.id),
      (found) => found.length >= 4,
    );
    const fields = new Set(lines.flatMap((line) => Object.keys(line)));
    await madeUp(minted, mark);
    const all = await waitFor(
      () => log.requests(minted.tenant.id),
      (found) => found.length >= 2 * lines.length,
    );
    expect(new Set(all.flatMap((line) => Object.keys(line)))).toEqual(fields);
    const named = all.flatMap((line) => Object.entries(line).filter(([, value]) => String(value).includes(mark)));
    expect(new Set(named.map(([field]) => field))).toEqual(new Set(["model"]));
    expect(named.every(([, value]) => String(value).length <= MODEL_TEXT_MAX)).toBe(true);
    const others = log
      .text()
      .split("\n")
      .filter((line) => line.includes(mark) && !line.includes('"event":"request"'));
    expect(others).toEqual([]);
  });
});

it("a gateway has as many series as its page says", async () => {
  const all = await series();
  const growing = ["gateway_mcp_requests_total", "gateway_jwks_refresh_total"];
  const ofCell = all.filter(({ name, labels }) => labels["cell"] === "local" && !growing.includes(name));
  expect(ofCell.length).toBeGreaterThan(100);
  expect(ofCell.length).toBeLessThanOrEqual(CELL_SERIES_MAX);
  expect(all.filter(({ labels }) => labels["cell"] === undefined).length).toBeLessThanOrEqual(CONTROL_SERIES_MAX);
});
