/** Every code, reason, kind and state of the API has its words, and every row of usage can be said. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ALERT_TITLES } from "../../shared/catalogues/alerts.ts";
import { ERROR_TABLE, type ErrorCode } from "../../shared/errors.ts";
import { ATTENTION_KINDS, type AttentionItem } from "../../shared/schema/attention.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { zeroUsageRow } from "../../shared/usage/usage-row.ts";
import { ADMISSION_CLASSES, CACHE_STATUSES } from "../../shared/usage/usage-values.ts";
import { errorTexts } from "../messages/en/errors.ts";
import { explainAttention } from "./explain-attention.ts";
import { explainBudget } from "./explain-budget.ts";
import { explainError, ROW_ERROR_CODES } from "./explain-error.ts";
import { type ExplainedRow, explainRequest } from "./explain-request.ts";
import { runOutWords } from "./run-out.ts";

const NOW = Date.UTC(2026, 10, 23);
const CODES = Object.keys(ERROR_TABLE) as ErrorCode[];
/** A whole sentence that needs no value: no placeholder is left, nothing unknown is named. */
function expectSaid(text: string): void {
  expect(text).not.toMatch(/[{}]|undefined|null|NaN/);
  expect(text.trim()).not.toBe("");
}

describe("errors", () => {
  it.each(CODES)("%s has a sentence and a next step", (code) => {
    const { why, fix } = explainError(code) ?? { why: "", fix: "" };
    for (const text of [why, fix]) {
      expectSaid(text);
      expect(text).toMatch(/^[A-Z].*\.$/);
    }
    expect(why).not.toBe(fix);
  });

  it("has texts of no other codes, and knows no code that is not in the table", () => {
    expect(Object.keys(errorTexts).sort()).toEqual(CODES.flatMap((code) => [code, `${code}_fix`]).sort());
    for (const code of ["", "__proto__", "constructor", "toString", "teapot"]) expect(explainError(code)).toBeNull();
  });
});

describe("codes of rows", () => {
  it("are those of the data plane, of clients that left, and of errors of upstreams", () => {
    const offered = new Set(ROW_ERROR_CODES);
    expect(ROW_ERROR_CODES).toEqual([...CODES.filter((code) => offered.has(code)), "client_gone", "upstream_error"]);
    expect(ROW_ERROR_CODES).toContain("queue_full");
    expect(ROW_ERROR_CODES).toContain("client_gone");
    for (const code of ["backup_format", "unauthorized", "not_found"]) expect(ROW_ERROR_CODES).not.toContain(code);
  });
});

const row = (fields: Partial<ExplainedRow>): ExplainedRow => ({ ...zeroUsageRow("r", NOW), ...fields });

describe("requests", () => {
  it("that were refused say why, what to do, and where", () => {
    const refused = row({ status_code: 403, error_code: "tenant_budget_exhausted", tenant_id: "t" });
    expect(explainRequest(refused, "admin")).toEqual({
      tone: "warn",
      title: "Refused: Tenant budget exhausted (403)",
      sentences: ["The tenant's budget is used up."],
      advice: [
        {
          text: "Raise the tenant's budget, or wait until it resets.",
          link: { to: "/tenants/$tenantId", params: { tenantId: "t" }, search: { tab: "budget" } },
        },
      ],
    });
    expect(explainRequest(refused, "user").advice).toEqual([
      { text: "Ask a gateway admin, and give them the request ID r.", link: null },
    ]);
  });

  it("that were slow say where the time went, the longest part first, and what would shorten it", () => {
    const slow = row({
      admission: "queued",
      status_code: 200,
      attempts: 1,
      output_tokens: 120,
      total_ms: 10_000,
      queue_wait_ms: 6000,
      gateway_ms: 100,
      ttft_ms: 900,
      tenant_id: "t",
    });
    expect(explainRequest(slow, "admin")).toEqual({
      tone: "good",
      title: "Succeeded",
      sentences: [
        "Completed in 10 s.",
        "6 s of 10 s (60%) waiting for a slot.",
        "3 s of 10 s (30%) streaming the response.",
        "120 output tokens at 40 tokens/s.",
      ],
      advice: [
        {
          text: "To shorten the wait, add slots, or raise the limit or weight that blocks the queue.",
          link: { to: "/fairshare", params: {}, search: { tenant_id: "t" } },
        },
      ],
    });
    expect(explainRequest(slow, "user").advice).toEqual([
      { text: "All slots for it were in use. Try again later, or ask a gateway admin for more.", link: null },
    ]);
  });

  it("that the upstream has refused itself name its status", () => {
    const { title, sentences, advice } = explainRequest(
      row({ status_code: 429, upstream_status: 429, attempts: 3, endpoint: "west", total_ms: 40, model: "m" }),
      "admin",
    );
    expect(title).toBe("Upstream error 429");
    expect(sentences).toContain(
      "The upstream returned 429. The client got the upstream's response body with status 429.",
    );
    expect(sentences).toContain("The upstream was called 3 times, last at the endpoint west.");
    expect(advice[0]).toMatchObject({ link: { to: "/models/$modelId", params: { modelId: "m" } } });
  });

  it("that failed at the upstream say which status the client got, and not how fast they failed", () => {
    const failed = row({ status_code: 502, upstream_status: 503, total_ms: 141, gateway_ms: 111 });
    expect(explainRequest(failed, "admin").sentences).toEqual([
      "The upstream returned 503. The client got the upstream's response body with status 502.",
    ]);
    expect(explainRequest({ ...failed, attempts: 1, endpoint: "west" }, "admin").sentences).toContain(
      "The upstream was called 1 time, at the endpoint west.",
    );
    expect(explainRequest({ ...failed, model: "m" }, "user").advice).toEqual([
      { text: "Send the request again. If it keeps failing, ask a gateway admin.", link: null },
    ]);
  });

  it("that were cut off while they streamed are not called refused, and get no advice on speed", () => {
    const cut = { status_code: 403, error_code: "tenant_not_active", ttft_ms: 9, output_tokens: 50, total_ms: 60_000 };
    const { title, advice } = explainRequest(row(cut), "admin");
    expect(title).toBe("Stopped after 1 min: Tenant not active (403)");
    expect(advice.map((one) => one.text)).toEqual(["Activate the tenant."]);
  });

  it("whose client has left say when", () => {
    const left = (fields: Partial<ExplainedRow>): string | undefined =>
      explainRequest(row({ status_code: 499, error_code: "client_gone", total_ms: 100, ...fields }), "user")
        .sentences[0];
    expect(left({})).toContain("was not called yet");
    expect(left({ admission: "fast" })).toContain("was not called yet");
    expect(left({ admission: "queued" })).toContain("waiting for a slot");
    const seen = { attempts: undefined, admission: "queued" } as const;
    expect(left({ ...seen, total_tokens: 7 })).toContain("up to that point was charged");
    expect(left({ ...seen, queue_wait_ms: 50 })).toBe("The response had not started. Nothing was charged.");
    expect(left({ ...seen, queue_wait_ms: 95 })).toContain("waiting for a slot");
    expect(left({ attempts: 1 })).toContain("had not answered yet");
    expect(left({ attempts: 1, ttft_ms: 5 })).toContain("up to that point was charged");
  });

  it("that came from the cache, and codes of a newer version, are said too", () => {
    expect(explainRequest(row({ status_code: 200, cache_status: "hit", total_ms: 3 }), "user").sentences).toEqual([
      "Answered from the response cache in 3 ms, without calling the upstream and at no cost.",
    ]);
    expect(explainRequest(row({ status_code: 418, error_code: "teapot" }), "admin")).toMatchObject({
      title: "Refused: Teapot (418)",
      advice: [],
    });
  });

  it("of any numbers, codes and names are said without a hole", () => {
    const anyNumber = fc.oneof(fc.nat(100_000), fc.double(), fc.constantFrom(Number.NaN, 1e308, -1));
    const status = fc.oneof(fc.constantFrom(0, 200, 304, 400, 401, 403, 404, 429, 499, 500, 503), fc.nat(999));
    const anyRow = fc.record({
      error_code: fc.oneof(
        fc.constantFrom(...CODES, "client_gone", "", "__proto__"),
        fc.stringMatching(/^[a-z_]{1,20}$/),
      ),
      status_code: status,
      upstream_status: fc.option(status, { nil: undefined }),
      admission: fc.constantFrom(...ADMISSION_CLASSES),
      cache_status: fc.constantFrom(...CACHE_STATUSES),
      attempts: fc.option(anyNumber, { nil: undefined }),
      output_tokens: anyNumber,
      queue_wait_ms: anyNumber,
      ttft_ms: anyNumber,
      total_ms: anyNumber,
      gateway_ms: anyNumber,
      model: fc.constantFrom("", "gpt"),
    });
    fc.assert(
      fc.property(anyRow, fc.constantFrom("admin" as const, "user" as const), (fields, viewer) => {
        const { title, sentences, advice } = explainRequest(row(fields), viewer);
        for (const text of [title, ...sentences, ...advice.map((one) => one.text)]) expectSaid(text);
        expect(sentences.length + advice.length > 0 || fields.status_code < 200).toBe(true);
        if (viewer === "user") expect(advice.some(({ link }) => link?.to === "/fairshare")).toBe(false);
      }),
    );
  });
});

const NO_ALERT = { severity: "warning", alert_key: null, muted_until: null } as const;

describe("attention", () => {
  it.each(ATTENTION_KINDS)("%s has a title, a sentence and its figures", (kind) => {
    const types: AttentionItem["entity_type"][] = [
      "user",
      "tenant",
      "api_key",
      "model",
      "model_endpoint",
      "settings",
      "cell",
      "gateway",
    ];
    for (const entity_type of types) {
      const item = { kind, entity_type, entity_id: "id", name: "acme", detail: "92 percent", since: null, ...NO_ALERT };
      const { title, sentence, detail } = explainAttention(item);
      expectSaid(title);
      expectSaid(sentence);
      expect(detail).toBe("92 percent");
    }
  });

  it("leads where it can be ended", () => {
    const item = {
      kind: "key_expires",
      entity_type: "api_key",
      entity_id: "k",
      name: "a: b",
      detail: "",
      since: null,
      ...NO_ALERT,
    } as const;
    expect(explainAttention(item).link).toEqual({ to: "/keys", params: {}, search: { key_id: "k" } });
  });

  it("about an alert says what to do, and leads to the requests, queues or page that it is about", () => {
    const of = (entity_id: string) =>
      explainAttention({
        kind: "alert",
        entity_type: "gateway",
        entity_id,
        name: "",
        detail: "",
        since: null,
        ...NO_ALERT,
      });
    expect(of("upstream_5xx_response:team/phi:4")).toMatchObject({
      sentence: expect.stringContaining("failed requests"),
      link: { to: "/logs", search: { model: "team/phi:4", status: "failed" } },
    });
    expect(of("queue_wait_long:eu:team/phi:4").link).toMatchObject({ to: "/fairshare", search: { cell: "eu" } });
    expect(of("guardrails_input_harm_t1").link).toMatchObject({
      params: { tenantId: "t1" },
      search: { tab: "policies" },
    });
    expect(of("mcp_upstream_5xx_response:files").link).toMatchObject({ to: "/mcp", search: { q: "files" } });
    const unexplained = Object.keys(ALERT_TITLES).filter((key) =>
      of(`${key}${key.startsWith("guardrails") ? "_t" : ":about:more"}`).sentence.startsWith("Nothing to do"),
    );
    // events
    expect(unexplained).toEqual([
      "model_health_recovery",
      "identity_tenant_created",
      "test_alert",
      "slurm_reconcile_recovered",
    ]);
    expect(of("term_budget_exhausted:t").link).toMatchObject({ params: { tenantId: "t" }, search: { tab: "budget" } });
    expect(of("key_term_budget_warn:tenant:t").link).toMatchObject({ to: "/keys", search: { tenant_id: "t" } });
    expect(of("model_health_down:team/phi:4").link).toMatchObject({ params: { modelId: "team/phi:4" } });
  });

  it("leads to the alert about it, where it can be muted, and is as urgent as its severity", () => {
    const item = { kind: "alert", entity_type: "gateway", entity_id: "", name: "", detail: "", since: null } as const;
    const alert = { to: "/alerts", params: {}, search: { key: "disk_low:a" } };
    const about = { ...item, ...NO_ALERT, alert_key: "disk_low:a" };
    expect(explainAttention({ ...about, severity: "critical" })).toMatchObject({ alert, tone: "bad" });
    expect(explainAttention({ ...about, muted_until: "2026-11-21T08:00:00.000Z" }).tone).toBe("neutral");
    expect(explainAttention({ ...item, ...NO_ALERT })).toMatchObject({ alert: null, tone: "warn" });
  });

  it("about an endpoint leads to the endpoint on its model's page", () => {
    const item = {
      kind: "endpoint_down",
      entity_type: "model_endpoint",
      entity_id: "e1",
      detail: "",
      since: null,
      ...NO_ALERT,
    } as const;
    expect(explainAttention({ ...item, name: "team: phi: second" }).link).toEqual({
      to: "/models/$modelId",
      params: { modelId: "team: phi" },
      search: { tab: "connection", endpoint: "e1" },
    });
  });

  it("about a setting leads to its part of the settings, unless another page has more", () => {
    const of = (kind: AttentionItem["kind"], entity_id: string) =>
      explainAttention({ kind, entity_type: "settings", entity_id, name: "", detail: "", since: null, ...NO_ALERT })
        .link;
    expect(of("setting_without_effect", "assistant")).toMatchObject({ to: "/settings", search: { tab: "assistant" } });
    expect(of("setting_without_effect", "usage_retention")).toMatchObject({ search: { tab: "retention" } });
    expect(of("provisioner_held", "jobsched")).toMatchObject({ to: "/deployments" });
    expect(of("setting_without_effect", "constructor")).toBeNull();
  });
});

describe("budgets", () => {
  const usage: BudgetUsage = {
    budget_period: "monthly",
    period_start: "2026-10-31T18:30:00.000Z",
    period_end: "2026-11-30T18:30:00.000Z",
    budget_tokens: 1000,
    budget_cost_usd: 0.000002,
    used_tokens: 1200,
    used_cost_usd: 0.000000001,
    reserved_tokens: 5,
    reserved_cost_usd: 0,
    remaining_tokens: 0,
    remaining_cost_usd: 0.0000015,
    ratio: 1.2,
    state: "exhausted",
    tokens_per_day: null,
    cost_usd_per_day: null,
    runs_out_at: null,
    runs_out_by: null,
    limit_to_last: null,
    per_day_to_last: null,
  };

  it("show overuse, tiny costs and the reset time in the tenant's time zone", () => {
    expect(explainBudget(usage, "Asia/Kolkata", NOW)).toEqual({
      tone: "bad",
      title: "Used up: requests are refused",
      sentences: [
        "1,200 of 1,000 tokens used (120%), 5 reserved, 0 left.",
        "$0.000000001 of $0.00000200 used (0.1%), $0.00 reserved, $0.00000150 left.",
        "Resets 1 Dec 2026, 00:00 Asia/Kolkata (UTC+05:30) (in 8 days).",
      ],
      outlook: null,
    });
  });

  it("say when they run out at the mean rate, and what would make them last", () => {
    const running = { ...usage, state: "ok", tokens_per_day: 50.4, cost_usd_per_day: 0.5 } as const;
    const outlook = (change: Partial<BudgetUsage>) => explainBudget({ ...running, ...change }, "UTC", NOW).outlook;
    const out = {
      runs_out_at: "2026-11-25T00:00:00Z",
      runs_out_by: "tokens",
      limit_to_last: 1403,
      per_day_to_last: 20,
    } as const;
    expect(outlook({})).toBe("At 50.4 tokens, $0.500 a day, the budget lasts until it resets.");
    expect(outlook({ state: "warned" })).toBe(
      "At 50.4 tokens, $0.500 a day, what is left is just enough until it resets.",
    );
    expect(outlook({ period_end: null })).toBe("At 50.4 tokens, $0.500 a day, the budget does not run out.");
    expect(outlook(out)).toBe(
      "At 50.4 tokens a day, the budget runs out on 25 Nov 2026 (in 2 days). A limit of 1.4K tokens would last until it resets. So would at most 20 tokens a day from now on.",
    );
    expect(outlook({ ...out, runs_out_by: "cost_usd", limit_to_last: 12.345, per_day_to_last: 0 })).toBe(
      "At $0.500 a day, the budget runs out on 25 Nov 2026 (in 2 days). A limit of $12.35 would last until it resets.",
    );
    expect(outlook({ ...out, state: "exhausted", limit_to_last: null })).toBe("The average was 50.4 tokens a day.");
    expect(outlook({ budget_tokens: null, budget_cost_usd: null })).toBeNull();
    expect(runOutWords({ ...running, ...out }, "UTC", NOW)).toEqual({
      rate: "50.4 tokens a day",
      when: "25 Nov 2026 (in 2 days)",
      toLast: "1.4K tokens",
    });
    const whenOf = (state: BudgetUsage["state"]) => runOutWords({ ...running, state }, "UTC", NOW).when;
    expect([whenOf("ok"), whenOf("warned")]).toEqual(["Not before the reset on 30 Nov 2026", "Almost used up"]);
    expect(runOutWords({ ...running, period_end: null }, "UTC", NOW).when).toBe("Does not run out");
    expect(runOutWords({ ...usage, state: "ok" }, "UTC", NOW)).toEqual({ rate: "–", when: "–", toLast: "" });
    expect(runOutWords(usage, "UTC", NOW)).toEqual({ rate: "–", when: "Used up", toLast: "" });
  });

  it("without caps say what is used, and a cap of 0 is used up", () => {
    const free = {
      ...usage,
      budget_period: null,
      period_end: null,
      budget_tokens: null,
      budget_cost_usd: null,
      state: "none",
    } as const;
    expect(explainBudget(free, "UTC", NOW).sentences).toEqual(["No limit. Used: 1,200 tokens and $0.000000001."]);
    expect(explainBudget({ ...usage, budget_tokens: 0, used_tokens: 0 }, "UTC", NOW).sentences[0]).toContain(
      "0 of 0 tokens used (100%)",
    );
  });
});
