/**
 * A model's endpoints on the running stack: which endpoint is called, with which credential, and which answers are
 * released (docs/rules/models.md#endpoints, docs/rules/upstream-calls.md#attempts).
 */
import { describe, expect, it } from "vitest";
import type { ModelEndpoint } from "../../shared/schema/model-endpoint.ts";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

type Endpoints = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A tenant whose model has these endpoints: for each name the fields other than the address; `does` is its behaviour. */
async function mint(endpoints: Endpoints, model: Readonly<Record<string, unknown>> = {}) {
  const minted = await fixture.gateway.mint("", "plain", model);
  const ids: Record<string, string> = {};
  for (const [name, { does = "plain", ...fields }] of Object.entries(endpoints)) {
    const body = { name, api_base: fixture.upstream.at(name, String(does)), ...fields };
    const { id } = await fixture.gateway.must<ModelEndpoint>("POST", `/models/${minted.model.id}/endpoints`, body);
    ids[name] = `/models/${minted.model.id}/endpoints/${id}`;
  }
  return { minted, ids };
}

async function statusOf(minted: Minted, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const response = await fixture.gateway.chat(minted, { headers });
  await response.text();
  return response.status;
}

/** Sends `times` requests; returns how many each endpoint got, without those that got none. */
async function went(minted: Minted, times: number, headers: Readonly<Record<string, string>> = {}) {
  const before = fixture.upstream.attempts(minted.mark);
  for (let left = times; left > 0; left -= 1) await statusOf(minted, headers);
  const after = fixture.upstream.attempts(minted.mark);
  const counts = Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

describe("endpoints", () => {
  it("are called in their current order, with their own key or the model's", async () => {
    const endpoints = { a: { priority: 2 }, b: { priority: 1, api_key: "of-b" } };
    const { minted, ids } = await mint(endpoints, { api_key: "of-model" });
    expect(await went(minted, 2)).toEqual({ b: 2 });
    await fixture.gateway.must("PUT", ids["b"] ?? "", { priority: 3 });
    expect(await went(minted, 1)).toEqual({ a: 1 });
    await fixture.gateway.must("PUT", ids["a"] ?? "", { enabled: false });
    expect(await went(minted, 1)).toEqual({ b: 1 });
    await fixture.gateway.must("DELETE", ids["b"] ?? "");
    await fixture.gateway.must("PUT", ids["a"] ?? "", { enabled: true });
    expect(await went(minted, 1)).toEqual({ a: 1 });
    const keys = fixture.upstream.seen(minted.mark).map((seen) => seen.headers.authorization);
    expect(keys).toEqual(["of-b", "of-b", "of-model", "of-b", "of-model"].map((key) => `Bearer ${key}`));
  });

  it("keep a session, and take over the sessions of an endpoint that is removed", async () => {
    const { minted, ids } = await mint({ a: {}, b: {}, c: {} }, { endpoint_selection_mode: "session_hash" });
    const sessions = ["s1", "s2", "s3", "s4", "s5", "s6"];
    const first = new Map<string, string>();
    for (const session of sessions) {
      const counts = await went(minted, 3, { "x-session-id": session });
      expect(Object.values(counts)).toEqual([3]);
      first.set(session, Object.keys(counts)[0] ?? "");
    }
    const gone = first.get("s1") ?? "";
    await fixture.gateway.must("PUT", ids[gone] ?? "", { enabled: false });
    for (const session of sessions) {
      const [name] = Object.keys(await went(minted, 1, { "x-session-id": session }));
      if (first.get(session) === gone) expect(name).not.toBe(gone);
      else expect(name).toBe(first.get(session));
    }
  });

  it("share load by weight", async () => {
    const { minted } = await mint(
      { a: { weight: 1 }, b: { weight: 1_000_000_000 } },
      { endpoint_selection_mode: "load_balance" },
    );
    expect(await went(minted, 12)).toEqual({ b: 12 });
  });

  it("that failed three times in a row are tried last", async () => {
    const { minted } = await mint({ a: { does: "status=500" }, b: {} });
    expect(await went(minted, 3)).toEqual({ a: 3, b: 3 });
    expect(await went(minted, 3)).toEqual({ b: 3 });
  });

  it("whose streams broke three times in a row are tried last too", { tags: ["check"] }, async () => {
    const { minted } = await mint({ a: { does: "cut,pace=10" }, b: {} });
    for (const expected of [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 3, b: 1 }]) {
      const response = await fixture.gateway.chat(minted, { stream: true });
      const text = await response.text();
      await fixture.gateway.row(minted.tenant.id, response.headers.get("x-gateway-request-id"));
      expect(fixture.upstream.attempts(minted.mark)).toEqual(expected);
      expect(text.includes("[DONE]")).toBe("b" in expected);
    }
  });
});

describe("an endpoint that dies under load", () => {
  it("costs no request its answer, and every request has one row", { tags: ["check"] }, async () => {
    const doomed = await startTestUpstream();
    const { minted } = await mint({ a: { does: "plain,delay=30" } }, { endpoint_selection_mode: "load_balance" });
    const body = { name: "doomed", api_base: doomed.at("doomed", "plain,delay=30") };
    await fixture.gateway.must("POST", `/models/${minted.model.id}/endpoints`, body);
    const statuses: number[] = [];
    const sendOn = async (): Promise<void> => {
      while (statuses.length < 120) {
        statuses.push(0);
        const at = statuses.length - 1;
        statuses[at] = await statusOf(minted);
      }
    };
    const sending = Promise.all(Array.from({ length: 12 }, sendOn));
    await waitFor(
      () => doomed.seen(minted.mark).length,
      (seen) => seen >= 10,
    );
    await doomed.close();
    await sending;
    expect(new Set(statuses)).toEqual(new Set([200]));
    const counted = await waitFor(
      async () => await fixture.gateway.countRows(minted.tenant.id),
      ({ rows }) => rows === statuses.length,
    );
    expect(counted).toEqual({ rows: statuses.length, requests: statuses.length });
  });
});

describe("an answer that is not the last", () => {
  it("is released, although its body never ends", async () => {
    const { minted } = await mint({ a: { does: "status=503,endless" }, b: {} });
    expect(await statusOf(minted)).toBe(200);
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.cutOff,
      (cutOff) => cutOff === true,
    );
  });

  it("is passed on with its whole body when the next attempt gets no answer", { tags: ["check"] }, async () => {
    const { minted } = await mint({ a: { does: "status=500" }, b: { does: "hang" } }, { request_timeout_secs: 3 });
    const response = await fixture.gateway.chat(minted);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 502,
      body: { detail: "status 500" },
    });
  });
});

describe("a client that leaves between two attempts", () => {
  it("ends the request at once: no further attempt, and its slot back", async () => {
    const reliability = { max_retries: 10, retry_backoff_ms: 60_000 };
    const { minted } = await mint({ a: { does: "status=503" } }, reliability);
    const client = new AbortController();
    const left = fixture.gateway.chat(minted, { signal: client.signal }).catch(() => null);
    await waitFor(
      () => fixture.upstream.seen(minted.mark)[0]?.done,
      (done) => done === true,
    );
    client.abort();
    await left;
    const [row] = await waitFor(
      async () => await fixture.gateway.rows(minted.tenant.id),
      (rows) => rows.length === 1,
    );
    expect(row).toMatchObject({ status_code: 499, admission: "fast" });
    expect(fixture.upstream.attempts(minted.mark)).toEqual({ a: 1 });
    expect(await fixture.gateway.loadOf(minted.model.model_name)).toEqual({ inFlight: 0, queued: 0 });
  });
});

describe("a form", () => {
  mainRows(1)([
    ["status=503", 1000, 502, { bad: 1 }],
    ["reset", 1000, 502, { bad: 2 }],
    ["reset", 1_000_000, 502, { bad: 1 }],
    ["reset,fails=1", 1000, 200, { bad: 2 }],
  ])(
    "meets %s with %i bytes once, again only on a fresh connection, never elsewhere",
    async (does, size, status, seen) => {
      const { minted } = await mint({ bad: { does, priority: 1 }, good: { priority: 2 } }, { max_retries: 3 });
      const form = new FormData();
      form.append("model", minted.model.model_name);
      form.append("prompt", minted.mark);
      form.append("file", new File([new Uint8Array(size)], "a.wav"));
      const response = await fetch(`${fixture.gateway.proxyUrl}/v1/audio/transcriptions`, {
        method: "POST",
        headers: { authorization: `Bearer ${minted.secret}` },
        body: form,
      });
      await response.text();
      expect({ status: response.status, attempts: fixture.upstream.attempts(minted.mark) }).toEqual({
        status,
        attempts: seen,
      });
    },
  );
});
