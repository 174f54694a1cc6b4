/**
 * `node infra/launch.mjs test/workflows/main.ts [--where-possible]`: actionlint finds no fault in `.github/workflows`. With
 * `--where-possible` a machine without Go is no failure but a line that says why.
 */
import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { join } from "node:path";
import { goProgram } from "../../infra/go-program.ts";
import { refuseArea } from "../tiers/optional-area.ts";
import { endWith } from "../tiers/run-phases.ts";

const ROOT = join(import.meta.dirname, "../..");
const ACTIONLINT_MODULE = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12";

endWith(lint());

function lint(): number {
  const actionlint = goProgram(ACTIONLINT_MODULE);
  if (actionlint === null) return refuseArea("the workflows cannot be checked", "actionlint needs Go to build it");
  const [program, ...first] = actionlint;
  const workflows = globSync(".github/workflows/*.yml", { cwd: ROOT });
  const { status } = spawnSync(program, [...first, ...workflows], { cwd: ROOT, stdio: "inherit" });
  if (status === 0) process.stdout.write(`actionlint finds no fault in ${workflows.length} workflows\n`);
  return status ?? 1;
}
