/**
 * Compares the table of alerts with the sources: which alerts they raise, and whether the tests named in the table wait for
 * them.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { issues } from "../../shared/alerts.ts";
import { ALERT_KEYS, ALERTS_SPEC } from "./alert-keys.ts";

const ROOT = join(import.meta.dirname, "../..");

const SIDES = ["input", "output"] as const;
const TENANT = { id: "<tenant>", name: "n" };

/** Every issue of the shared list, made once for each key that it can have. */
const MADE: { readonly [Name in keyof typeof issues]: readonly { readonly issueKey: string }[] } = {
  schedulerUnavailable: [issues.schedulerUnavailable("c", "r")],
  lookupFailed: (["key", "model", "mcp"] as const).map((kind) => issues.lookupFailed(kind, "r")),
  responseCacheFailed: (["lookup", "store"] as const).map((work) => issues.responseCacheFailed(work, "r")),
  storedObjectsForgotten: [issues.storedObjectsForgotten("t", 1)],
  budgetCheckFailed: (["tenant", "key"] as const).flatMap((owner) =>
    [true, false].map((open) => issues.budgetCheckFailed(owner, open, "r")),
  ),
  budgetSettlementFailed: (["bucket", "tenant", "key"] as const).map((part) =>
    issues.budgetSettlementFailed(part, "r"),
  ),
  budgetAmountRefused: [issues.budgetAmountRefused("w", "f", "c")],
  usageNotBelieved: [issues.usageNotBelieved("m", 3)],
  upstreamRequestFailed: [issues.upstreamRequestFailed("m", "r", 1, 1)],
  upstream5xxResponse: [issues.upstream5xxResponse("m", 500)],
  upstreamStreamError: [issues.upstreamStreamError("m", "r", 1)],
  mcpServerFailed: (
    ["mcp_upstream_request_failed", "mcp_upstream_5xx_response", "mcp_tool_discovery_failed"] as const
  ).map((key) => issues.mcpServerFailed(key, "s", "r")),
  guardrailsMatch: SIDES.map((side) => issues.guardrailsMatch(side, TENANT, ["pii"], "block")),
  guardrailsHarm: SIDES.map((side) => issues.guardrailsHarm(side, TENANT, "block")),
  jwksFetchFailed: [issues.jwksFetchFailed(0, "i", "r")],
  identityTenantCreated: [issues.identityTenantCreated("t", "i")],
  usageRowsRefused: [issues.usageRowsRefused(1)],
  modelHealthDown: [issues.modelHealthDown("m", 1, "l")],
  modelHealthRecovery: [issues.modelHealthRecovery("m", "d")],
  adminAuthFailures: [issues.adminAuthFailures(20, 1)],
  slurmReconcileHeld: [issues.slurmReconcileHeld(10, "r")],
  slurmReconcileRecovered: [issues.slurmReconcileRecovered()],
  usageSpillRefused: [issues.usageSpillRefused(1)],
};

/** Keys that are made where they are raised. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  "control/alerts/disk-watch.ts": ["disk_low"],
  "control/alerts/expiry-watch.ts": ["tenant_expiry"],
  // those of many keys as one
  "control/alerts/issues-of-keys.ts": ["key_term_budget_exhausted", "key_term_budget_warn"],
  "control/backup/backup-schedule.ts": ["backup_failed"],
  "control/energy/power-poll.ts": ["energy_power_poll_failed"],
  "control/alerts/outbox-watch.ts": ["redis_sync_failed"],
  "control/publish/fill-watch.ts": ["key_store_emptied"],
  "control/usage/schema-watch.ts": ["analytics_schema_changed"],
  "control/alerts/queue-watch.ts": ["queue_wait_long"],
  "edge/domain/budget/alerts.ts": [
    "key_term_budget_exhausted",
    "key_term_budget_warn",
    "term_budget_exhausted",
    "term_budget_warn",
  ],
};

/** These alerts go to the channels directly, on request. */
const SENT = ["test_alert"];

const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

describe("the table of alerts", () => {
  it("has every key that the sources make, and no other", () => {
    const shared = Object.values(MADE).flatMap((made) =>
      made.map(({ issueKey }) => issueKey.replace(/:.*$|_<tenant>$/, "")),
    );
    const made = [...shared, ...Object.values(ELSEWHERE).flat(), ...SENT];
    expect([...new Set(made)].toSorted()).toEqual(Object.keys(ALERT_KEYS).toSorted());
  });

  it("knows every source that makes an issue of its own", () => {
    const sources = globSync("{edge,control}/**/*.ts", { cwd: ROOT }).filter(
      (file) => !/\.test(-helper)?\.ts$/.test(file),
    );
    const making = sources.filter((file) => /\bissueOf\(/.test(read(file)));
    expect(making.toSorted()).toEqual(Object.keys(ELSEWHERE).toSorted());
  });

  it("knows every issue of the shared list as one that the sources raise", () => {
    const sources = globSync("{edge,control}/**/*.ts", { cwd: ROOT }).filter((file) => !file.endsWith(".test.ts"));
    const text = sources.map(read).join("\n");
    expect(Object.keys(issues).filter((name) => !text.includes(`issues.${name}(`))).toEqual([]);
  });

  it.each(Object.entries(ALERT_KEYS).filter(([, file]) => file !== ALERTS_SPEC))(
    "has a test that waits for %s in %s",
    (key, file) => {
      expect(read(file)).toMatch(new RegExp(`["'\`]${key}["'\`:]`));
    },
  );
});
