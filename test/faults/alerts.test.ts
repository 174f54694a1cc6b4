/**
 * Alerts on their way from a fault to the control service, whatever is unavailable on the way
 * (docs/rules/alerts.md#way-to-the-channels).
 *
 * @module-tag long
 */
import { expect, it } from "vitest";
import type { Stack } from "../../infra/local/stack.ts";
import type { AlertOverview } from "../../shared/schema/alert-log.ts";
import type { BudgetUsage } from "../../shared/schema/budget.ts";
import { INTERNAL_PATHS } from "../../shared/wire/internal.ts";
import type { BudgetRead, BudgetSubject } from "../../shared/wire/internal-budgets.ts";
import { startGatedUpstream } from "../harness/gated-upstream.ts";
import { Gateway, type Minted } from "../harness/gateway.ts";
import { startHttpSink } from "../harness/http-sink.ts";
import { startMailServer } from "../harness/mail-server.ts";
import { alertsIn } from "../harness/object-faults.ts";
import { startTestStack } from "../harness/test-stack.ts";
import { startTestUpstream } from "../harness/test-upstream.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Waits until a tenant has used so many tokens, as its budget says: there is no control service to ask. */
async function settled(stack: Stack, { tenant }: Minted, used: number): Promise<void> {
  const { id, name, timezone, tokens_per_minute, requests_per_minute } = tenant;
  // Limits that are older than those which the budget knows.
  const budget = { tokens: null, cost_usd: null, period: null, started_at_ms: null };
  const limits = { id, name, timezone, tokens_per_minute, requests_per_minute, budget, active_until_ms: null, rev: 0 };
  const subject: BudgetSubject = { tenant: limits, key: null };
  await waitFor(
    async () => {
      const headers = { authorization: `Bearer ${stack.internalToken}`, "content-type": "application/json" };
      const url = `${stack.proxyUrl}${INTERNAL_PATHS.budgetUsage}`;
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(subject) });
      return [answer.status, await answer.json()] as readonly [number, Partial<BudgetRead>];
    },
    ([status, read]) => status === 200 && read.used_tokens === used && read.reserved_tokens === 0,
  );
}

it("reports budgets used up while the control service was down, once each, and those of a tenant in order", async () => {
  const upstream = await startTestUpstream();
  const [hook, mail] = [await startHttpSink(), await startMailServer()];
  const lines: string[] = [];
  const stack = await startTestStack({}, { log: (line) => lines.push(line) });
  try {
    const gateway = new Gateway(stack);
    const email = { smtp_host: "127.0.0.1", smtp_port: mail.port, starttls: false };
    await gateway.must("PUT", "/settings/alerts", {
      slack_webhook_url: hook.url,
      email: { ...email, from_address: "gateway@localhost", recipients: ["ops@example.org"] },
    });
    const tenants: Minted[] = [];
    for (let count = 0; count < 4; count += 1) {
      const minted = await gateway.mint(upstream.url);
      await gateway.must("PATCH", `/tenants/${minted.tenant.id}/budget`, { budget_tokens: 120 });
      tenants.push(minted);
    }
    const control = stack.parts.get("control")?.pid ?? 0;
    process.kill(control, "SIGSTOP");
    for (const minted of tenants) {
      const statusOfNext = async (): Promise<number> => {
        const response = await gateway.chat(minted, { body: { max_tokens: 10 } });
        await response.text();
        return response.status;
      };
      // Each request uses 33 tokens, and is settled before the next one, which would else be admitted beside it.
      for (const used of [33, 66, 99, 132]) {
        expect(await statusOfNext()).toBe(200);
        await settled(stack, minted, used);
      }
      expect(await statusOfNext()).toBe(403);
    }
    expect(hook.asked).toEqual([]);
    process.kill(control, "SIGKILL");
    const keys = tenants.flatMap(({ tenant }) => [
      `term_budget_warn:${tenant.id}`,
      `term_budget_exhausted:${tenant.id}`,
    ]);
    await waitFor(
      () => [hook.asked.length, mail.mails.length],
      (counts) => counts.every((count) => count >= keys.length),
    );
    const keyOf = (text: string): string =>
      /term_budget_\w+:[0-9a-f-]{36}/.exec(text.replaceAll("=\r\n", ""))?.[0] ?? text;
    // tenants take turns, so only the order of each is certain
    const sentOf = (texts: readonly string[]) => ({
      count: texts.length,
      keys: tenants.flatMap(({ tenant }) => texts.map(keyOf).filter((key) => key.endsWith(tenant.id))),
    });
    const all = { count: keys.length, keys };
    expect({ hook: sentOf(hook.asked.map(({ body }) => body)), mail: sentOf(mail.mails) }).toEqual({
      hook: all,
      mail: all,
    });
    const logged = alertsIn(lines);
    expect(logged.map((alert) => [alert["key"], alert["cell"]])).toEqual(keys.map((key) => [key, "local"]));
    expect(logged.slice(0, 2).map((alert) => alert["title"])).toEqual([
      "Tenant budget at 80 percent",
      "Tenant budget exhausted",
    ]);
    expect(logged[1]?.["detail"]).toBe(`"${tenants[0]?.tenant.name}": 132 of 120 tokens (lifetime)`);
  } finally {
    await stack.stop();
    await Promise.all([upstream.close(), hook.close(), mail.close()]);
  }
});

it("reports a cap that is set at or below what is used, though no request follows", async () => {
  const upstream = await startTestUpstream();
  const hook = await startHttpSink();
  const stack = await startTestStack();
  try {
    const gateway = new Gateway(stack);
    await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: hook.url });
    const { tenant, key, ...rest } = await gateway.mint(upstream.url);
    const limit = async (ofTenant: number, ofKey: number): Promise<void> => {
      const budget = { budget_tokens: ofTenant, budget_period: "lifetime" };
      await gateway.must("PATCH", `/tenants/${tenant.id}/budget`, budget);
      await gateway.must("PUT", `/keys/${key.id}`, { budget_tokens: ofKey, budget_period: "lifetime" });
    };
    await limit(1_000, 1_000);
    const response = await gateway.chat({ tenant, key, ...rest });
    await response.text();
    await waitFor(
      async () => await gateway.must<BudgetUsage>("GET", `/tenants/${tenant.id}/budget/usage`),
      ({ used_tokens }) => used_tokens === 33,
    );
    await limit(33, 5);
    const issues = () => hook.asked.map(({ body }) => /(?:key_)?term_budget_\w+:[0-9a-f-]{36}/.exec(body)?.[0] ?? body);
    const exhausted = [`key_term_budget_exhausted:${key.id}`, `term_budget_exhausted:${tenant.id}`];
    const sent = await waitFor(issues, ({ length }) => length >= exhausted.length);
    expect(new Set(sent)).toEqual(new Set(exhausted));
  } finally {
    await stack.stop();
    await Promise.all([upstream.close(), hook.close()]);
  }
});

it("counts all failures of an upstream in its messages, without a further failure at the end", async () => {
  const upstream = await startTestUpstream();
  const hook = await startHttpSink();
  const stack = await startTestStack();
  try {
    const gateway = new Gateway(stack);
    await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: hook.url, min_interval_secs: 5 });
    const failing = await gateway.mint(upstream.url, "status=503");
    const timesOf = (body: string): number => 1 + Number(/\((\d+) repeats suppressed\)/.exec(body)?.[1] ?? 0);
    const messages = () =>
      hook.asked.filter(({ body }) => body.includes("upstream_5xx_response")).map(({ body }) => body);
    let failures = 0;
    // There is one message when the isolate's quiet time is over, and later ones.
    while (messages().length < 2 || failures % 7 !== 0) {
      const response = await gateway.chat(failing);
      await response.text();
      expect(response.status).toBe(502);
      failures += 1;
    }
    await waitFor(
      () => messages().reduce((sum, body) => sum + timesOf(body), 0),
      (times) => times >= failures,
    );
    expect(messages().reduce((sum, body) => sum + timesOf(body), 0)).toBe(failures);
  } finally {
    await stack.stop();
    await Promise.all([upstream.close(), hook.close()]);
  }
});

it("alerts for each model that fails often, for none that failed once or is muted", async () => {
  const upstream = await startTestUpstream();
  const hook = await startHttpSink();
  const stack = await startTestStack();
  try {
    const gateway = new Gateway(stack);
    await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: hook.url, min_interval_secs: 0 });
    const once = await gateway.mint(upstream.url, "status=500");
    const broken = [await gateway.mint(upstream.url, "status=503"), await gateway.mint(upstream.url, "status=500")];
    const fail = async (minted: Minted): Promise<void> => {
      const response = await gateway.chat(minted);
      await response.text();
      expect(response.status).toBe(502);
    };
    const failOften = async (minted: Minted): Promise<void> => {
      for (let failures = 0; failures < 3; failures += 1) await fail(minted);
    };
    const keyOf = ({ model }: Minted): string => `upstream_5xx_response:${model.model_name}`;
    const issues = () => hook.asked.map(({ body }) => /upstream_\w+:[\w-]+/.exec(body)?.[0] ?? body);
    await fail(once);
    for (const minted of broken) await failOften(minted);
    const keys = broken.map(keyOf);
    await waitFor(issues, (sent) => keys.every((key) => sent.includes(key)));
    expect(new Set(issues())).toEqual(new Set(keys));

    const [muted = ""] = keys;
    const muted_until = new Date(Date.now() + 3_600_000).toISOString();
    await gateway.must("PATCH", `/alerts/${encodeURIComponent(muted)}`, { muted_until });
    const before = issues().length;
    for (const minted of broken) await failOften(minted);
    const { firing } = await waitFor(
      async () => await gateway.must<AlertOverview>("GET", "/alerts"),
      (read) => keys.every((key) => (read.firing.find((each) => each.key === key)?.repeats ?? 0) >= 5),
    );
    expect(firing.find(({ key }) => key === muted)).toMatchObject({ muted_until, repeats: 5 });
    await waitFor(issues, (sent) => sent.length > before);
    expect(issues().slice(before)).not.toContain(muted);
    await gateway.must("PATCH", `/alerts/${encodeURIComponent(muted)}`, { muted_until: null });
    await waitFor(
      () => issues().slice(before),
      (sent) => sent.includes(muted),
    );
  } finally {
    await stack.stop();
    await Promise.all([upstream.close(), hook.close()]);
  }
});

it("alerts when requests of a model waited long, or a large part of them failed", async () => {
  const [gated, upstream] = [await startGatedUpstream(), await startTestUpstream()];
  const hook = await startHttpSink();
  const stack = await startTestStack({
    GATEWAY_ALERT_QUEUE_WAIT_SECS: "1",
    GATEWAY_ALERT_FAILURES_PER_MINUTE: "100",
  });
  try {
    const gateway = new Gateway(stack);
    await gateway.must("PUT", "/settings/alerts", { slack_webhook_url: hook.url });
    const minted = await gateway.mint(gated.url, "plain", { max_in_flight: 1 });
    const served = [gateway.chat(minted), gateway.chat(minted)];
    const failing = await gateway.mint(upstream.url, "status=503");
    // A minute of the clock may end between two of them.
    for (let failures = 0; failures < 3; failures += 1) await (await gateway.chat(failing)).text();
    const messageOf = (key: string) => hook.asked.map(({ body }) => body).find((body) => body.includes(key)) ?? "";
    const name = minted.model.model_name;
    const waiting = await waitFor(
      () => messageOf(`queue_wait_long:local:${name}`),
      (message) => message !== "",
    );
    expect(waiting).toContain(`${name} in cell local: 1 request is waiting`);
    gated.release();
    expect((await Promise.all(served)).map(({ status }) => status)).toEqual([200, 200]);
    const failed = await waitFor(
      () => messageOf(`upstream_5xx_response:${failing.model.model_name}`),
      (message) => message !== "",
    );
    expect(failed).toMatch(/\([12] repeats suppressed\)/);
  } finally {
    await stack.stop();
    await Promise.all([gated.close(), upstream.close(), hook.close()]);
  }
});
