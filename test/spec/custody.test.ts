/**
 * Every request has one row, however it ends (docs/rules/settlement-and-rows.md#custody,
 * docs/rules/settlement-and-rows.md#rows).
 * @module-tag processes
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

describe("400 requests, 16 at a time", () => {
  it("leave exactly 400 rows", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "plain");
    let left = 400;
    const client = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const response = await fixture.gateway.chat(minted, { stream: left % 2 === 0 });
        expect(response.status).toBe(200);
        await response.text();
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    const counted = await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows }) => rows >= 400,
    );
    expect(counted).toEqual({ rows: 400, requests: 400 });
    const [usage] =
      (await fixture.gateway.must<{ requests: number; total_tokens: number }[]>(
        "GET",
        `/usage/models?model=${minted.model.model_name}`,
      )) ?? [];
    expect(usage).toMatchObject({ requests: 400, total_tokens: 400 * 33, users: 1 });
  });
});

describe("200 streams that their clients abort", () => {
  it("are settled as 499, give their slots back, and stop the upstream", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=1000,pace=10");
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, at) => {
          const controller = new AbortController();
          const body = at % 2 === 0 ? {} : { stream_options: { include_usage: true } };
          const response = await fixture.gateway.chat(minted, { stream: true, body, signal: controller.signal });
          await response.body?.getReader().read();
          controller.abort();
        }),
      );
    }
    await waitFor(
      () => fixture.upstream.seen(minted.mark),
      (seen) => seen.length === 200 && seen.every((entry) => entry.cutOff),
    );
    const counted = await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows }) => rows >= 200,
    );
    expect(counted).toEqual({ rows: 200, requests: 200 });
    for (const row of await fixture.gateway.rows(minted.tenant.id)) {
      expect(row).toMatchObject({ status_code: 499, upstream_status: 200, admission: "fast" });
      expect(row.total_tokens).toBeLessThan(row.estimated_tokens);
      expect(row.cost_usd).toBeGreaterThan(0);
    }
  });
});

describe("50 clients that leave while they are queued", () => {
  it("are never seen by the upstream, leave their rows, and free their places", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "chunks=2000,pace=10", { max_in_flight: 1 });
    const holder = new AbortController();
    const held = await fixture.gateway.chat(minted, { stream: true, signal: holder.signal });
    const reader = held.body?.getReader();
    await reader?.read();
    const controllers = Array.from({ length: 50 }, () => new AbortController());
    const waiting = controllers.map(
      async (controller) =>
        await fixture.gateway.chat(minted, { signal: controller.signal }).then(
          () => "answered",
          () => "left",
        ),
    );
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ queued }) => queued === 50,
    );
    for (const controller of controllers) controller.abort();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["left"]));
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 50,
    );
    for (const row of rows)
      expect(row).toMatchObject({
        status_code: 499,
        admission: "queued",
        total_tokens: 0,
        cost_usd: 0,
        upstream_status: 0,
      });
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
    // The held answer is named here so that it lives until now: a client releases an answer that has no reference left.
    expect({ status: held.status, hasNoBody: reader === undefined }).toEqual({ status: 200, hasNoBody: false });
    holder.abort();
    const other = await fixture.gateway.mint(fixture.upstream.url);
    await (await fixture.gateway.chat(other)).text();
    await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows: count }) => count === 51,
    );
    expect(fixture.upstream.seen(minted.mark)).toHaveLength(1);
    expect(await fixture.gateway.loadOf(minted.model.model_name)).toEqual({ inFlight: 0, queued: 0 });
  });
});

describe("the cap of a model", () => {
  it("is never exceeded at the upstream, and the rows of waiting requests show their wait", async () => {
    const minted = await fixture.gateway.mint(fixture.upstream.url, "delay=20", { max_in_flight: 3 });
    const responses = await Promise.all(Array.from({ length: 30 }, async () => await fixture.gateway.chat(minted)));
    for (const response of responses) {
      expect(response.status).toBe(200);
      await response.text();
    }
    expect(fixture.upstream.peak(minted.mark)).toBe(3);
    const rows = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (found) => found.length === 30,
    );
    const queued = rows.filter((row) => row.admission === "queued");
    expect(queued.length).toBeGreaterThanOrEqual(20);
    for (const row of queued) expect(row.queue_wait_ms).toBeGreaterThan(0);
  });
});
