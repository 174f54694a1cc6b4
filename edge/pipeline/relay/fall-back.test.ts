/** A request between its model and the next one (docs/rules/models.md#fallback-models). */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { IdentityTransform } from "../../../test/harness/edge/pipeline/identity-transform.ts";
import { modelOf } from "../../../test/harness/edge/pipeline/records.ts";
import { GRANT, TestPermit, TestPipeline } from "../../../test/harness/edge/pipeline/world.ts";
import { waitFor } from "../../../test/harness/wait-for.ts";
import { run } from "../run.ts";

beforeEach(() => void vi.stubGlobal("IdentityTransformStream", IdentityTransform));

/** A request whose model fails, and which waits for a slot of the next one. */
class Moving {
  readonly world = new TestPipeline();
  readonly permit = new TestPermit();
  readonly client = new AbortController();
  readonly answered: Promise<{ status: number; code: string | undefined }>;

  constructor() {
    const { world, permit } = this;
    const { prices } = modelOf();
    world.model = modelOf({ fallback_models: ["other"], fallback_on: ["failure"] });
    world.otherModels.set("other", modelOf({ model_name: "other", prices: { ...prices, input: 2, output: 2 } }));
    world.upstream = async () =>
      world.upstreamCalls.length === 1 ? new Response("{}", { status: 503 }) : Response.json({ choices: [] });
    world.answers = [
      { ...GRANT, permit },
      { verdict: "waiting", permit },
    ];
    this.answered = this.#run();
  }

  async #run() {
    const response = await run(this.world.received({ signal: this.client.signal }));
    const body = (await response.json().catch(() => null)) as { error?: { code: string } } | null;
    await this.world.settled();
    return { status: response.status, code: body?.error?.code };
  }

  async waits(): Promise<void> {
    await waitFor(
      () => this.world.requests,
      (requests) => requests.length === 2,
    );
    this.world.nowMs += 40;
  }

  get asked() {
    return this.world.requests.map(({ model, anew, waitedMs }) => ({ model: model.name, anew, waitedMs }));
  }
}

const NOTHING = { total_tokens: 0, cost_usd: 0 };

describe("a request that waits for a slot of the next model", () => {
  it("asked for it at that model's price, and is counted as one request in all", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.permit.decided.resolve(GRANT);
    expect((await moving.answered).status).toBe(200);
    const [first, second] = moving.world.requests.map(({ need }) => need);
    expect(second).toEqual({ ...first, requests: 0, nanoUsd: 2 * (first?.nanoUsd ?? 0) });
    expect(moving.permit.settlement?.row).toMatchObject({ model: "tiny", served_model: "other", status_code: 200 });
  });

  it("asks again for that model when its records change, and when its place is lost", async () => {
    const moving = new Moving();
    const again = new TestPermit();
    moving.world.answers.push({ verdict: "waiting", permit: again });
    await moving.waits();
    moving.permit.decided.resolve({ verdict: "stale", items: [{ kind: "model", id: "other", rev: 1 }] });
    await waitFor(
      () => moving.world.requests,
      (requests) => requests.length === 3,
    );
    again.decided.reject(new Error("lost"));
    expect((await moving.answered).status).toBe(200);
    expect(moving.asked).toEqual([
      { model: "tiny", anew: false, waitedMs: null },
      { model: "other", anew: false, waitedMs: 0 },
      { model: "other", anew: false, waitedMs: 40 },
      { model: "other", anew: true, waitedMs: 40 },
    ]);
  });

  it("owes nothing when its client leaves", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.client.abort();
    expect((await moving.answered).status).toBe(499);
    expect(moving.permit.settlement).toMatchObject({
      actualTokens: 0,
      row: { ...NOTHING, model: "tiny", served_model: "tiny", status_code: 499, error_code: "client_gone" },
    });
  });

  it("is told that the gateway stops, and not of the failure before", async () => {
    const moving = new Moving();
    await moving.waits();
    moving.world.memory.interruption.interrupt(new GatewayError("gateway_stopping"));
    expect(await moving.answered).toEqual({ status: 503, code: "gateway_stopping" });
    expect(moving.permit.settlement?.row).toMatchObject({ ...NOTHING, status_code: 503 });
  });

  it("passes the failure on when the budgets refuse it, with one row", async () => {
    const moving = new Moving();
    await moving.waits();
    const refusal = { code: "tenant_budget_exhausted", retryAfterMs: null, level: null } as const;
    moving.permit.decided.resolve({ verdict: "refused", refusal });
    expect((await moving.answered).status).toBe(502);
    expect(moving.permit.settlement?.row).toMatchObject({
      ...NOTHING,
      served_model: "tiny",
      status_code: 502,
      upstream_status: 503,
      admission: "fast",
    });
    expect({ orphans: moving.world.orphans, recorded: moving.world.recorded }).toEqual({ orphans: [], recorded: [] });
  });
});
