/**
 * `npm run chart`: renders the chart with the values of infra/helm/testing by Helm itself, into infra/helm/testing/rendered,
 * where the tests look at it. Needs `helm` on the path; with Go alone it is built from its module. `-- --check` compares
 * instead of writing; with `--where-possible` a machine that has neither prints a line instead of failing.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartDigest, helmCommand, lintChart, RENDERED, refusal, renderChart } from "./helm.ts";

/** Invalid values -> the error that the installing person gets. */
const REFUSED = [
  ["edge.replicas=2", "set edge.cluster.bucket"],
  ["edge.cluster.bucket=https://bucket", "edge/cluster/bucket"],
  ["secretName=", "secretName is required"],
  ["image.registry=", "image.registry is required"],
  ["clickhouse.url=", "clickhouse.url is required"],
  ["clickhouse.url=clickhouse", "clickhouse/url"],
  ["control.variables.DASHBOARD_PUBLIC_URL=", "DASHBOARD_PUBLIC_URL is required"],
  ["edge.replica=2", "replica"],
  ["variables.PATH=/tmp", "PATH"],
  ["edge.variables.GATEWAY_TLS_CERT_FILE=/tls.crt", "GATEWAY_TLS_CERT_FILE"],
] as const;

const isCheck = process.argv.includes("--check");
const helm = helmCommand();
if (helm === null && process.argv.includes("--where-possible")) {
  process.stdout.write("skipped: there is no Helm, and no Go to build it\n");
  process.exit(77);
}
if (helm === null) fail("Helm is needed, or Go to build it: https://helm.sh/docs/intro/install");
lintChart(helm);
for (const [value, why] of REFUSED) {
  const said = refusal(helm, [value]);
  if (said?.includes(why) !== true) fail(`${value} must be refused with "${why}", and Helm says: ${said ?? "nothing"}`);
}
const head = `# Rendered by \`npm run chart\`. ${chartDigest()}\n`;
const stale = RENDERED.filter((name) => {
  const path = join(import.meta.dirname, `testing/rendered/${name}.yaml`);
  const text = head + renderChart(helm, name);
  if (isCheck) return readFileSync(path, "utf8") !== text;
  writeFileSync(path, text);
  return false;
});
if (stale.length > 0) fail(`the chart renders otherwise than ${stale.join(" and ")}: run \`npm run chart\``);
process.stdout.write(
  `the chart is accepted by helm lint; ${RENDERED.length} sets of values ${isCheck ? "compared" : "rendered"}\n`,
);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
