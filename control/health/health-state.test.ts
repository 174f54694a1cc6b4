/**
 * The state machine of health as laws over any sequence of outcomes and changes of configuration
 * (docs/rules/health.md#states).
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  configureHealth,
  type HealthAlert,
  type HealthOutcome,
  type HealthState,
  nextHealth,
  UNKNOWN_HEALTH,
} from "./health-state.ts";

const RULES = { failureThreshold: 2, alertsEnabled: true, inMaintenance: false };

const outcome = fc.constantFrom<HealthOutcome>("healthy", "degraded", "unhealthy", "unknown", "skipped", "disabled");
const rules = fc.record({
  failureThreshold: fc.integer({ min: 1, max: 4 }),
  alertsEnabled: fc.boolean(),
  inMaintenance: fc.boolean(),
});
const state = fc.record({
  status: fc.constantFrom("unknown", "healthy", "degraded", "unhealthy", "disabled"),
  failures: fc.nat(5),
  firing: fc.boolean(),
  failingSinceMs: fc.option(fc.nat(), { nil: null }),
});

/** The alerts of a sequence of outcomes under the same rules, each with the number of the outcome that raised it. */
function alertsOf(outcomes: readonly HealthOutcome[], threshold: number): readonly (readonly [HealthAlert, number])[] {
  const alerts: [HealthAlert, number][] = [];
  let now = UNKNOWN_HEALTH;
  for (const [at, each] of outcomes.entries()) {
    const { state: next, alert } = nextHealth(now, each, { ...RULES, failureThreshold: threshold }, at);
    if (alert !== null) alerts.push([alert, at]);
    now = next;
  }
  return alerts;
}

describe("a step of health", () => {
  it.each<[HealthOutcome, Partial<HealthState>, HealthAlert | null]>([
    ["healthy", { status: "healthy", failures: 0, firing: false, failingSinceMs: null }, "recovery"],
    ["degraded", { status: "degraded" }, null],
    ["unknown", { status: "unknown" }, null],
    ["skipped", {}, null],
    ["disabled", { status: "disabled", failures: 0, firing: false, failingSinceMs: null }, null],
    ["unhealthy", { failures: 6 }, null],
  ])("after %s changes what the table says", (found, changes, alert) => {
    const down = { status: "unhealthy", failures: 5, firing: true, failingSinceMs: 3 };
    expect(nextHealth(down, found, RULES, 9)).toEqual({ state: { ...down, ...changes }, alert });
  });

  it("keeps the status below the threshold, and the time of the first failure", () => {
    const once = nextHealth({ ...UNKNOWN_HEALTH, status: "healthy" }, "unhealthy", RULES, 5);
    expect(once).toEqual({ state: { status: "healthy", failures: 1, firing: false, failingSinceMs: 5 }, alert: null });
    const twice = nextHealth(once.state, "unhealthy", RULES, 8);
    expect(twice.state).toEqual({ status: "unhealthy", failures: 2, firing: true, failingSinceMs: 5 });
    expect(twice.alert).toBe("down");
  });
});

describe("alerts of health", () => {
  it("are raised once per outage and once per recovery, in turn, whatever the outcomes", () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (outcomes, threshold) => {
        const raised = alertsOf(outcomes, threshold);
        // an outage that ends because the model is disabled raises no recovery, and the next outage may raise an alert
        let open = false;
        for (const [at, each] of outcomes.entries()) {
          const alert = raised.find(([, when]) => when === at)?.[0] ?? null;
          if (alert === "down") expect({ open, each }).toEqual({ open: false, each: "unhealthy" });
          if (alert === "recovery") expect({ open, each }).toEqual({ open: true, each: "healthy" });
          if (open && each === "healthy") expect(alert).toBe("recovery");
          if (alert === "down") open = true;
          if (alert === "recovery" || each === "disabled") open = false;
        }
      }),
    );
  });

  it("come with the failure that reaches the threshold, which only healthy and disabled reset", () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 40 }), fc.integer({ min: 1, max: 4 }), (outcomes, threshold) => {
        let failures = 0;
        const expected = outcomes.flatMap((each, at) => {
          if (each === "healthy" || each === "disabled") failures = 0;
          if (each !== "unhealthy") return [];
          failures += 1;
          return failures === threshold ? [at] : [];
        });
        const downs = alertsOf(outcomes, threshold).filter(([alert]) => alert === "down");
        expect(downs.map(([, at]) => at)).toEqual(expected);
      }),
    );
  });

  it("never follow degraded, unknown, skipped or disabled", () => {
    fc.assert(
      fc.property(state, outcome, rules, (before, found, each) => {
        const { alert } = nextHealth(before, found, each, 1);
        if (found !== "healthy" && found !== "unhealthy") expect(alert).toBeNull();
      }),
    );
  });

  it("are not raised in maintenance or while they are off, but once an outage outlasts that", () => {
    fc.assert(
      fc.property(state, outcome, rules, (before, found, each) => {
        if (each.alertsEnabled && !each.inMaintenance) return;
        const { state: after, alert } = nextHealth(before, found, each, 1);
        expect(alert).toBeNull();
        expect(after.firing && !before.firing).toBe(false);
      }),
    );
    const quiet = nextHealth({ ...UNKNOWN_HEALTH, failures: 4 }, "unhealthy", { ...RULES, inMaintenance: true }, 1);
    expect({ status: quiet.state.status, alert: quiet.alert }).toEqual({ status: "unhealthy", alert: null });
    expect(nextHealth(quiet.state, "unhealthy", RULES, 2).alert).toBe("down");
  });

  it("never leave a state that is unhealthy with fewer failures than the threshold", () => {
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 20 }), rules, (outcomes, each) => {
        let now = UNKNOWN_HEALTH;
        for (const found of outcomes) {
          now = nextHealth(now, found, each, 1).state;
          if (now.status === "unhealthy") expect(now.failures).toBeGreaterThanOrEqual(each.failureThreshold);
          expect(now.failingSinceMs === null).toBe(now.failures === 0);
        }
      }),
    );
  });
});

describe("configuration", () => {
  const config = fc.record({
    checksEnabled: fc.boolean(),
    alertsEnabled: fc.boolean(),
    inMaintenance: fc.boolean(),
  });
  const event = fc.oneof(
    { weight: 5, arbitrary: outcome.map((found) => ({ found })) },
    { weight: 1, arbitrary: config.map((saved) => ({ saved })) },
    { weight: 1, arbitrary: fc.constant({ moved: true as const }) },
  );

  it("clears what it turns off and nothing else, and raises no alert", () => {
    fc.assert(
      fc.property(state, config, (before, saved) => {
        const after = configureHealth(before, saved);
        const silenced = !saved.checksEnabled || !saved.alertsEnabled || saved.inMaintenance;
        const counted = saved.checksEnabled ? {} : { failures: 0, failingSinceMs: null };
        expect(after).toEqual({ ...before, ...counted, firing: before.firing && !silenced });
      }),
    );
  });

  it("raises one alert per outage and one recovery per alert, however it changes meanwhile", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (events, failureThreshold) => {
        let now = UNKNOWN_HEALTH;
        let saved = { checksEnabled: true, alertsEnabled: true, inMaintenance: false };
        let open = false;
        for (const [at, each] of events.entries()) {
          if ("moved" in each) now = UNKNOWN_HEALTH;
          if ("saved" in each) {
            saved = each.saved;
            now = configureHealth(now, saved);
          }
          if (!("found" in each)) {
            open &&= now.firing;
            continue;
          }
          const { state: after, alert } = nextHealth(now, each.found, { ...saved, failureThreshold }, at);
          if (alert === "down") expect(open).toBe(false);
          if (alert === "recovery") expect(open).toBe(true);
          open = alert === "down" || (open && alert === null && each.found !== "disabled");
          expect(after.firing).toBe(open);
          now = after;
        }
      }),
    );
  });
});
