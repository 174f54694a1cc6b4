/**
 * A client that hangs up at any moment, politely or not (docs/architecture.md#one-request,
 * docs/rules/admission.md#membership): its slot or place is free again, nothing stays reserved, and the ledger has one row
 * as docs/rules/settlement-and-rows.md#clients-that-leave says.
 */
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();

/** A connection, with everything that was read from it. */
class Caller {
  readonly #socket: Socket;
  #read = "";

  constructor() {
    const { hostname, port } = new URL(fixture.gateway.proxyUrl);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (chunk: Buffer) => {
      this.#read += chunk.toString("latin1");
    });
    this.#socket.on("error", () => undefined);
  }

  /** Sends a streamed chat request, or only the first half of its body. */
  sendChat(minted: Minted, half = false): void {
    const body = JSON.stringify({
      model: minted.model.model_name,
      stream: true,
      // Never owed by a stream that is left early.
      max_tokens: 4000,
      messages: [{ role: "user", content: minted.mark }],
    });
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      "host: gateway",
      `authorization: Bearer ${minted.secret}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    this.#socket.write(`${head.join("\r\n")}\r\n\r\n${half ? body.slice(0, body.length / 2) : body}`);
  }

  /** Resolves when this text has arrived. */
  async heard(text: string): Promise<void> {
    await waitFor(
      () => this.#read,
      (read) => read.includes(text),
    );
  }

  hangUp(how: "politely" | "rudely"): void {
    if (how === "politely") this.#socket.end();
    else this.#socket.resetAndDestroy();
  }
}

async function load(minted: Minted, inFlight: number, queued: number): Promise<void> {
  await waitFor(
    async () => await fixture.gateway.loadOf(minted.model.model_name),
    (now) => now.inFlight === inFlight && now.queued === queued,
  );
}

interface Moment {
  readonly upstream: string;
  /** Brings the caller to this moment; the returned function ends what it needed. */
  readonly reach: (caller: Caller, minted: Minted) => Promise<() => void>;
  readonly row: Readonly<Record<string, unknown>>;
  /** How many rows the moment leaves, including those of other requests. */
  readonly rows: number;
  readonly tokens: "none" | "seen" | "reported";
}

const nothing = (): void => undefined;

const moments: Readonly<Record<string, Moment>> = {
  "in the middle of the stream": {
    upstream: "chunks=10000,pace=10",
    reach: async (caller, minted) => {
      caller.sendChat(minted);
      await caller.heard("w3");
      return nothing;
    },
    row: { status_code: 499, admission: "fast", upstream_status: 200 },
    rows: 1,
    tokens: "seen",
  },
  "while its body is on the way": {
    upstream: "plain",
    reach: async (caller, minted) => {
      caller.sendChat(minted, true);
      return nothing;
    },
    row: { status_code: 499, admission: "rejected", upstream_status: 0, session_id_source: "none" },
    rows: 1,
    tokens: "none",
  },
  "while it waits for a slot": {
    upstream: "hang",
    reach: async (caller, minted) => {
      const holder = new Caller();
      holder.sendChat(minted);
      await load(minted, 1, 0);
      caller.sendChat(minted);
      await load(minted, 1, 1);
      return () => holder.hangUp("rudely");
    },
    row: { status_code: 499, admission: "queued", upstream_status: 0 },
    rows: 2,
    tokens: "none",
  },
  "while the upstream thinks": {
    upstream: "hang",
    reach: async (caller, minted) => {
      caller.sendChat(minted);
      await waitFor(
        () => fixture.upstream.seen(minted.mark),
        (seen) => seen.length === 1,
      );
      return nothing;
    },
    row: { status_code: 499, admission: "fast", upstream_status: 0 },
    rows: 1,
    tokens: "seen",
  },
  "after the last byte": {
    upstream: "plain",
    reach: async (caller, minted) => {
      caller.sendChat(minted);
      await caller.heard("[DONE]");
      return nothing;
    },
    row: { status_code: 200, admission: "fast", upstream_status: 200 },
    rows: 1,
    tokens: "reported",
  },
};

mainRows(1, describe)(Object.entries(moments))("a client that hangs up %s", (_, moment) => {
  it.concurrent.each(["politely", "rudely"] as const)(
    "(%s) leaves nothing held or reserved, and its row",
    async (how) => {
      const minted = await fixture.gateway.mint(fixture.upstream.url, moment.upstream, { max_in_flight: 1 });
      await fixture.gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: 5_000 });
      const caller = new Caller();
      const after = await moment.reach(caller, minted);
      caller.hangUp(how);
      const rows = await waitFor(
        async () => await fixture.gateway.rows(minted.tenant.id),
        (found) => found.length === 1,
      );
      after();
      await load(minted, 0, 0);
      const [row] = rows;
      expect(row).toMatchObject(moment.row);
      if (moment.tokens === "seen") expect(row?.output_tokens).toBeLessThan(4000);
      else expect(row?.total_tokens).toBe({ none: 0, reported: 33 }[moment.tokens]);
      expect((row?.cost_usd ?? 0) > 0).toBe(moment.tokens !== "none");
      // The next request is served, so the caller's slot is free.
      await fixture.gateway.must("PUT", `/models/${minted.model.id}`, {
        upstream_model: "plain",
        api_base: minted.model.api_base,
      });
      const next = await fixture.gateway.chat(minted);
      await next.text();
      expect(next.status).toBe(200);
      await fixture.gateway.row(minted.tenant.id, next.headers.get("x-gateway-request-id"));
      const all = await waitFor(
        async () => await fixture.gateway.rows(minted.tenant.id),
        (found) => found.length > moment.rows,
      );
      expect(all).toHaveLength(moment.rows + 1);
      const used = all.reduce((sum, one) => sum + one.total_tokens, 0);
      const usage = await waitFor(
        async () =>
          await fixture.gateway.must<{ used_tokens: number; reserved_tokens: number }>(
            "GET",
            `/tenants/${minted.tenant.id}/budget/usage`,
          ),
        ({ reserved_tokens }) => reserved_tokens === 0,
      );
      expect(usage.used_tokens).toBe(used);
    },
  );
});
