/** Helm as a program, and the inputs of rendering the chart. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { goProgram, type ProgramCommand } from "../go-program.ts";

const CHART = join(import.meta.dirname, "gateway");
const VALUES = join(import.meta.dirname, "testing");
/** Built by Go where there is no `helm`. */
const HELM_MODULE = "helm.sh/helm/v3/cmd/helm@v3.19.5";
/** For which Kubernetes the chart is rendered. */
const KUBERNETES = "1.34.0";

/** The sets of values in infra/helm/testing. */
export const RENDERED = ["single", "cluster"] as const;

/** How Helm is called here; null when it cannot be. */
export function helmCommand(): ProgramCommand | null {
  if (spawnSync("helm", ["version", "--short"]).status === 0) return ["helm"];
  return goProgram(HELM_MODULE);
}

/** A digest of everything that the chart is rendered from. */
export function chartDigest(): string {
  const hash = createHash("sha256");
  const files = [
    ...globSync("**/*", { cwd: CHART, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
    ...RENDERED.map((name) => join(VALUES, `${name}.values.yaml`)),
  ];
  for (const file of files.sort())
    hash.update(`${file.slice(import.meta.dirname.length)}\0`).update(readFileSync(file));
  return `sha256:${hash.digest("hex")}`;
}

/** Runs `helm lint --strict` with the default values and with each set of values. Throws its findings. */
export function lintChart(helm: ProgramCommand): void {
  for (const values of [[], ...RENDERED.map(valuesOf)])
    run(helm, ["lint", "--strict", "--kube-version", KUBERNETES, CHART, ...values]);
}

/** The chart as Helm renders it. Throws what Helm says when it cannot. */
export function renderChart(helm: ProgramCommand, name: (typeof RENDERED)[number]): string {
  const release = ["template", "gw", CHART, "--namespace", "gateway", "--kube-version", KUBERNETES];
  return run(helm, [...release, ...valuesOf(name)]);
}

/** What Helm says of values that must be refused; null when it renders them. */
export function refusal(helm: ProgramCommand, values: readonly string[]): string | null {
  const set = values.flatMap((value) => ["--set", value]);
  const args = ["template", "gw", CHART, "--kube-version", KUBERNETES, ...valuesOf("single"), ...set];
  const { status, stderr } = call(helm, args);
  return status === 0 ? null : stderr;
}

function valuesOf(name: string): readonly string[] {
  return ["--values", join(VALUES, `${name}.values.yaml`)];
}

function run(helm: ProgramCommand, args: readonly string[]): string {
  const { status, stdout, stderr } = call(helm, args);
  if (status !== 0) throw new Error(`helm ${args[0]} failed: ${stderr || stdout}`);
  return stdout;
}

function call([program, ...first]: ProgramCommand, args: readonly string[]) {
  return spawnSync(program, [...first, ...args], { encoding: "utf8" });
}
