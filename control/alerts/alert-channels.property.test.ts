/**
 * Every issue reaches each channel whose rule matches, once for each interval with all its repeats, and no other channel
 * (docs/rules/alerts.md#channels): two replicas with the real database, against a model of the rule.
 *
 * @module-tag check
 */
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ALERT_SEVERITIES, type AlertKey, SEVERITIES } from "../../shared/catalogues/alerts.ts";
import { startControl, type TestControl } from "../../test/harness/control.ts";
import { propertyRuns } from "../../test/harness/property-runs.ts";
import { AlertSender } from "./alert-sender.ts";
import { takesIssue } from "./channel-rules.ts";
import type { AlertChannel } from "./configured-channels.ts";
import { FailureRates } from "./failure-rates.ts";

let control: TestControl;
beforeAll(async () => {
  control = await startControl();
});
afterAll(async () => {
  await control.close();
});

const ISSUES = [
  ["scheduler_unavailable", ":"],
  ["disk_low", ":"],
  ["guardrails_input", "_"],
  ["guardrails_input_harm", "_"],
  ["stored_objects_forgotten", ":"],
  ["model_health_down", ":"],
  ["model_health_recovery", ":"],
] as const satisfies readonly (readonly [AlertKey, string])[];

const channel = fc.record({
  min_severity: fc.constantFrom(...SEVERITIES),
  kinds: fc.uniqueArray(fc.constantFrom(...ISSUES.map(([kind]) => kind)), { maxLength: 3 }),
  minIntervalSecs: fc.constantFrom(0, 60, 300),
});
const step = fc.record({
  issue: fc.nat({ max: ISSUES.length - 1 }),
  count: fc.integer({ min: 1, max: 4 }),
  afterSecs: fc.constantFrom(0, 1, 30, 60, 200, 400),
  isSent: fc.boolean(),
});

/** The rule in other words than those of the code. */
function matches({ min_severity, kinds }: { min_severity: string; kinds: readonly string[] }, kind: AlertKey): boolean {
  const alike: AlertKey[] = kind === "model_health_recovery" ? [kind, "model_health_down"] : [kind];
  const isSevere = (one: AlertKey): boolean =>
    min_severity === "info" || ALERT_SEVERITIES[one] === "critical" || ALERT_SEVERITIES[one] === min_severity;
  return alike.some((one) => isSevere(one) && (kinds.length === 0 || kinds.includes(one)));
}

let run = 0;

it("each matching channel gets every issue once per interval, and no other channel does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(channel, { minLength: 1, maxLength: 4 }),
      fc.array(step, { minLength: 1, maxLength: 20 }),
      async (rules, steps) => {
        run += 1;
        let nowMs = 1_000_000_000_000 + run * 10_000_000;
        const got: string[] = [];
        const channels = rules.map(
          ({ minIntervalSecs, ...rule }, at): AlertChannel => ({
            id: `channel-${run}-${at}`,
            minIntervalSecs,
            takes: (key) => takesIssue(rule, key),
            send: async ({ issueKey, repeats }) => {
              got.push(`${nowMs} ${at} ${issueKey} ${repeats + 1}`);
              return { channel: `channel-${run}-${at}`, name: "n", ok: true, detail: "sent" };
            },
          }),
        );
        const { db } = control.connection;
        const replica = () =>
          new AlertSender({
            db,
            channels: async () => ({ minIntervalSecs: 300, channels, rev: 1 }),
            rates: new FailureRates(db, { perMinute: 3, percent: 5 }, async () => 0),
            consoleUrl: null,
            now: () => nowMs,
            logger: pino({ level: "silent" }),
          });
        const replicas = [replica(), replica()];
        const wanted: string[] = [];
        const waiting = new Map<string, { readonly at: number; readonly key: string; count: number; told: number }>();
        const flush = async (): Promise<void> => {
          for (const one of waiting.values()) {
            const interval = (rules[one.at]?.minIntervalSecs ?? 0) * 1000;
            if (one.count === 0 || nowMs - one.told < interval) continue;
            wanted.push(`${nowMs} ${one.at} ${one.key} ${one.count}`);
            one.count = 0;
            one.told = nowMs;
          }
          await Promise.all(replicas.map(async (sender) => await sender.sendDue()));
        };
        for (const [index, { issue, count, afterSecs, isSent }] of steps.entries()) {
          nowMs += afterSecs * 1000;
          const [kind, mark] = ISSUES[issue] ?? ISSUES[0];
          const key = `${kind}${mark}run-${run}`;
          const raised = { id: `${run}-${index}`, issueKey: key, title: "T", detail: "d", atMs: nowMs, cell: "local" };
          await replicas[index % 2]?.take([{ ...raised, count }]);
          for (const [at, rule] of rules.entries()) {
            if (!matches(rule, kind)) continue;
            const one = waiting.get(`${at} ${key}`) ?? { at, key, count: 0, told: Number.NEGATIVE_INFINITY };
            one.count += count;
            waiting.set(`${at} ${key}`, one);
          }
          if (isSent) await flush();
        }
        nowMs += 300_000;
        await flush();
        expect(got.toSorted()).toEqual(wanted.toSorted());
      },
    ),
    { numRuns: propertyRuns(200) },
  );
}, 120_000);
