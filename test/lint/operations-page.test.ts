/**
 * docs/operations.md has everything that an operator looks up: every variable, alert and metric, and none that does not
 * exist.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ALERT_KEYS } from "../harness/alert-keys.ts";
import { SPECIFIED_METRICS } from "../harness/specified-metrics.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = readFileSync(join(ROOT, "docs/operations.md"), "utf8");

/** The files that state the variables which the parts read. */
const READERS = [
  "edge/env.ts",
  "control/env.ts",
  "control/provisioner/provisioner-env.ts",
  "control/backup/backup-env.ts",
  "control/dashboard/env.ts",
  "infra/local/env.ts",
  "infra/local/cluster.ts",
  "control/kernel/build-info.ts",
  "control/cli/session.ts",
];

/** The names in the first column of the tables below a heading, up to the next heading of the same level. */
function namesUnder(heading: string): readonly string[] {
  const level = /^#+/.exec(heading)?.[0] ?? "";
  const [, after = ""] = PAGE.split(`\n${heading}\n`);
  const [section = ""] = after.split(new RegExp(`\n#{1,${level.length}} `));
  const cells = [...section.matchAll(/^\| (`[^|]*`) +\|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

it("lists every variable that is read, in the table or below it", () => {
  const read = READERS.flatMap(
    (file) =>
      readFileSync(join(ROOT, file), "utf8").match(
        /\b(?:(?:GATEWAY|DASHBOARD)_[A-Z_]+[A-Z]|TRUSTED_ORIGINS|OIDC_PROVIDERS)\b/g,
      ) ?? [],
  );
  const missing = [...new Set(read)].filter((name) => !PAGE.includes(`\`${name}\``));
  expect(missing).toEqual([]);
  expect(namesUnder("### Variables").filter((name) => !read.includes(name))).toEqual([]);
});

it("says of every alert what it means and what to do", () => {
  const rules = readFileSync(join(ROOT, "infra/grafana/alerts.yml"), "utf8").matchAll(/- alert: (\w+)/g);
  const raised = [...Object.keys(ALERT_KEYS), ...[...rules].map(([, name = ""]) => name)];
  const described = namesUnder("## Alerts").map((name) => name.replace(/:<.*$/, ""));
  expect(described.toSorted()).toEqual(raised.toSorted());
});

it("says of every metric what it shows", () => {
  expect(namesUnder("### Metrics").toSorted()).toEqual(SPECIFIED_METRICS.map(({ name }) => name).toSorted());
});

it("says of every label how many values it has", () => {
  const labels = new Set(["cell", ...SPECIFIED_METRICS.flatMap((metric) => metric.labels)]);
  expect(namesUnder("### Cardinality").toSorted()).toEqual([...labels].toSorted());
});
