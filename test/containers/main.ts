/**
 * `npm run test:area -- containers [arguments of vitest]`, first step: builds the images without a registry, runs them with a
 * read-only root, and verifies the units of systemd where it is installed.
 * With `--where-possible` a machine that cannot build images is no failure but a line that says why. What was built is removed
 * afterwards.
 */
import { spawn, spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { areaArgs, areaObstacle, exitCodeOf, failureOf, refuseArea, vitestOf } from "../tiers/optional-area.ts";
import { endWith } from "../tiers/run-phases.ts";
import { buildImages, removeImages } from "./base.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 10 * 60_000;
/** Of 100 that `systemd-analyze security` gives to a service that may do everything. */
const EXPOSURE_MAX = 20;
const ROOT = join(import.meta.dirname, "../..");

const WHAT = "no image can be built here";
endWith((await units()) || (await images()));

/** Has systemd verify its units, and rate what they are allowed to. */
async function units(): Promise<number> {
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) {
    process.stdout.write("the units are not verified: systemd-analyze is not installed\n");
    return 0;
  }
  const files = globSync(join(ROOT, "infra/systemd/*.{service,socket}"));
  const folder = mkdtempSync(join(tmpdir(), "gateway-units-"));
  try {
    const copies = files.map((file) => {
      const copy = join(folder, basename(file));
      // systemd looks whether there is such a program
      writeFileSync(copy, readFileSync(file, "utf8").replace("/usr/bin/node", process.execPath));
      return copy;
    });
    const rating = ["security", "--offline=true", "--no-pager", `--threshold=${EXPOSURE_MAX}`];
    return (
      (await run("systemd-analyze", ["verify", "--man=no", ...copies])) ||
      (await run("systemd-analyze", [...rating, ...copies.filter((copy) => copy.endsWith(".service"))], {}, "ignore"))
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function images(): Promise<number> {
  const obstacle = areaObstacle("unshare", "--mount", "mount", "--bind", "/tmp", "/tmp");
  if (obstacle !== null) return refuseArea(WHAT, obstacle);
  const folder = mkdtempSync(join(tmpdir(), "gateway-containers-"));
  try {
    const built = join(folder, "images.json");
    const failure = failureOf(() => writeFileSync(built, JSON.stringify(buildImages(folder))));
    if (failure !== null) return refuseArea(WHAT, failure);
    const [node, ...words] = vitestOf("containers", areaArgs);
    return await run(node, words, { TEST_CONTAINERS: built });
  } finally {
    removeImages(folder);
  }
}

async function run(
  command: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  output: "inherit" | "ignore" = "inherit",
): Promise<number> {
  const stdio = ["inherit", output, "inherit"] as const;
  return await exitCodeOf(
    spawn(command, words, { env: { ...process.env, ...env }, stdio: [...stdio], cwd: ROOT }),
    LIMIT_MS,
  );
}
