/**
 * A waiting request is checked again at its turn (docs/rules/admission.md#checked-again): what admitted it at its arrival
 * must still hold. Eight requests wait for a model with one slot; one of their records changes; the slot becomes free.
 */
import { describe, expect, it } from "vitest";
import { useGateway } from "../harness/fixture.ts";
import type { Minted } from "../harness/gateway.ts";
import { mainRows } from "../harness/main-rows.ts";
import { waitFor } from "../harness/wait-for.ts";

const fixture = useGateway();
const WAITERS = 8;

interface Scene {
  /** The tenant, key and model of the waiting requests. */
  readonly minted: Minted;
  /** Answers of the waiting requests, in the order in which the requests arrived. */
  readonly answers: readonly Promise<Response>[];
  /** Ends the request that holds the slot. */
  release(): void;
}

/**
 * Another request holds the model's slot; requests wait for it, and each is known to be queued before the next one arrives.
 */
async function waitingScene(arrange: (minted: Minted) => Promise<void> = async () => undefined): Promise<Scene> {
  // The first request that its upstream gets lasts long, the others end at once.
  const behaviour = "chunks=6000,pace=10,fails=1";
  const minted = await fixture.gateway.mint(fixture.upstream.url, behaviour, { max_in_flight: 1 });
  const other = await fixture.gateway.mint(fixture.upstream.url);
  const controller = new AbortController();
  const holder = await fixture.gateway.chat(
    { ...other, model: minted.model, mark: minted.mark },
    { stream: true, signal: controller.signal },
  );
  const reader = holder.body?.getReader();
  await reader?.read();
  await arrange(minted);
  const answers: Promise<Response>[] = [];
  for (let at = 0; at < WAITERS; at += 1) {
    const content = `hello ${minted.mark} waiter ${at}`;
    answers.push(fixture.gateway.chat(minted, { body: { messages: [{ role: "user", content }] } }));
    await waitFor(
      async () => await fixture.gateway.loadOf(minted.model.model_name),
      ({ queued }) => queued === at + 1,
    );
  }
  return { minted, answers, release: () => controller.abort() };
}

/** The answers of the waiting requests, and the rows that they left. */
async function outcomeOf({ minted, answers }: Scene) {
  const outcomes = await Promise.all(
    answers.map(async (answer) => {
      const response = await answer;
      const body = (await response.json()) as { error?: { code: string } };
      return { status: response.status, code: body.error?.code, id: response.headers.get("x-gateway-request-id") };
    }),
  );
  const rows = await waitFor(
    async () => await fixture.gateway.rows(minted.tenant.id),
    (found) => found.length >= WAITERS,
  );
  return { outcomes, rows };
}

const put = async (path: string, body: object): Promise<void> => void (await fixture.gateway.must("PUT", path, body));
const patch = async (path: string, body: object): Promise<void> => {
  await fixture.gateway.must("PATCH", path, body);
};
const remove = async (path: string): Promise<void> => void (await fixture.gateway.must("DELETE", path));
const schedule = async ({ tenant }: Minted, active_until: string): Promise<void> =>
  await patch(`/tenants/${tenant.id}/schedule`, { active_until });

interface Change {
  readonly what: string;
  /** Runs before any request waits. */
  readonly arrange?: (minted: Minted) => Promise<void>;
  /** Runs while the requests wait. */
  readonly change: (minted: Minted) => Promise<void>;
  readonly status: number;
  readonly code: string;
}

/** For so long a tenant may still be served when its access ends while its requests wait. */
const TERM_MS = 10_000;
const ends = new Map<string, number>();

/** Nobody changes anything: only time passes. */
const TERM_RUNS_OUT: Change = {
  what: "its tenant's term ran out, without any change",
  arrange: async (minted) => {
    const endMs = Date.now() + TERM_MS;
    ends.set(minted.mark, endMs);
    await schedule(minted, new Date(endMs).toISOString());
  },
  change: async ({ mark }) => {
    await waitFor(
      () => Date.now(),
      (nowMs) => nowMs > (ends.get(mark) ?? 0),
      2 * TERM_MS,
    );
  },
  status: 403,
  code: "tenant_expired",
};

const CHANGES: readonly Change[] = [
  {
    what: "its key was disabled",
    change: async ({ key }) => await put(`/keys/${key.id}/disabled`, { disabled: true }),
    status: 403,
    code: "api_key_disabled",
  },
  {
    what: "its key was deleted",
    change: async ({ key }) => await remove(`/keys/${key.id}`),
    status: 401,
    code: "invalid_api_key",
  },
  {
    what: "its tenant was suspended",
    change: async ({ tenant }) => await patch(`/tenants/${tenant.id}/status`, { status: "suspended" }),
    status: 403,
    code: "tenant_not_active",
  },
  {
    what: "its tenant was deleted",
    change: async ({ tenant }) => await remove(`/tenants/${tenant.id}`),
    status: 401,
    code: "invalid_api_key",
  },
  {
    what: "its tenant's term was ended",
    change: async (minted) => await schedule(minted, new Date(Date.now() - 1000).toISOString()),
    status: 403,
    code: "tenant_expired",
  },
  {
    what: "its tenant is outside its weekly windows",
    change: async ({ tenant }) => {
      const day = (new Date().getUTCDay() + 3) % 7;
      await patch(`/tenants/${tenant.id}/schedule`, { weekly_windows: [{ day, start_min: 0, end_min: 60 }] });
    },
    status: 403,
    code: "outside_access_window",
  },
  {
    what: "its model is off the tenant's list",
    change: async ({ tenant }) => await patch(`/tenants/${tenant.id}/allowlist`, { allowed_models: ["another"] }),
    status: 403,
    code: "model_not_permitted",
  },
  {
    what: "its model was disabled",
    change: async ({ model }) => await put(`/models/${model.id}`, { ...model, enabled: false }),
    status: 403,
    code: "model_disabled",
  },
  {
    what: "its model was deleted",
    change: async ({ model }) => await remove(`/models/${model.id}`),
    status: 404,
    code: "model_not_found",
  },
];

describe("a waiting request", () => {
  const isRefused = async (_: string, { arrange, change, status, code }: Change): Promise<void> => {
    const scene = await waitingScene(arrange);
    await change(scene.minted);
    scene.release();
    const { outcomes, rows } = await outcomeOf(scene);
    expect(outcomes.map((one) => [one.status, one.code])).toEqual(outcomes.map(() => [status, code]));
    expect(fixture.upstream.seen(`${scene.minted.mark} waiter`)).toEqual([]);
    expect(new Set(rows.map((row) => row.request_id))).toEqual(new Set(outcomes.map((one) => one.id)));
    expect(rows).toHaveLength(WAITERS);
    for (const row of rows) {
      expect(row).toMatchObject({
        admission: "rejected",
        status_code: status,
        key_id: scene.minted.key.id,
        total_tokens: 0,
        cost_usd: 0,
      });
      expect(row.queue_wait_ms).toBeGreaterThan(0);
    }
  };
  const named = (some: readonly Change[]) => some.map((change) => [change.what, change] as const);
  mainRows(1)(named(CHANGES))("is refused when %s: its upstream is not called, and it leaves its row", isRefused);
  it.each(named([TERM_RUNS_OUT]))(
    "is refused when %s: its upstream is not called, and it leaves its row",
    { tags: ["long"] },
    isRefused,
  );

  it("is served in its order, with its new records, when the change still admits it", { tags: ["check"] }, async () => {
    const scene = await waitingScene();
    const { tenant, key, model } = scene.minted;
    await put(`/tenants/${tenant.id}`, { name: `renamed ${tenant.name}` });
    await patch(`/tenants/${tenant.id}/weight`, { weight: 7 });
    await put(`/keys/${key.id}`, { description: "another" });
    await put(`/models/${model.id}/weight`, { admission_weight: 150 });
    scene.release();
    const { outcomes, rows } = await outcomeOf(scene);
    expect(outcomes.map((one) => one.status)).toEqual(outcomes.map(() => 200));
    const order = fixture.upstream.seen(`${scene.minted.mark} waiter`).map(({ body }) => {
      const [message] = body["messages"] as readonly { readonly content: string }[];
      return Number(message?.content.split(" ").at(-1));
    });
    expect(order).toEqual(outcomes.map((_, at) => at));
    expect(rows.map((row) => [row.admission, row.weight])).toEqual(outcomes.map(() => ["queued", 7]));
    const waits = outcomes.map((one) => rows.find((row) => row.request_id === one.id)?.queue_wait_ms ?? 0);
    expect(Math.min(...waits)).toBeGreaterThan(0);
  });

  it("that waits for tokens is checked against the budget as it is at its turn", { tags: ["check"] }, async () => {
    const scene = await waitingScene();
    const { tenant } = scene.minted;
    await patch(`/tenants/${tenant.id}/budget`, { budget_tokens: 0, budget_period: "lifetime" });
    scene.release();
    const { outcomes } = await outcomeOf(scene);
    expect(outcomes.map((one) => [one.status, one.code])).toEqual(outcomes.map(() => [403, "tenant_budget_exhausted"]));
    expect(fixture.upstream.seen(`${scene.minted.mark} waiter`)).toEqual([]);
  });
});
