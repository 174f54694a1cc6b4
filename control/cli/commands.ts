/** Every command of the command line. */
import type { Command } from "commander";
import { backupCommands } from "./backup.ts";
import { batchCommands } from "./batches.ts";
import { doctorCommand } from "./doctor.ts";
import { drillCommand } from "./drill.ts";
import { guardrailsCommands } from "./guardrails.ts";
import { keyCommands } from "./keys.ts";
import { managedCommands } from "./managed.ts";
import { modelCommands } from "./models.ts";
import { operationCommands } from "./operations.ts";
import { recipeCommands } from "./recipes.ts";
import { tenantCommands } from "./tenants.ts";
import { usageCommands } from "./usage.ts";

/** Adds them in the order of the help text. `version`: of this program. */
export function addCommands(program: Command, version: string): void {
  for (const add of [
    tenantCommands,
    keyCommands,
    modelCommands,
    managedCommands,
    recipeCommands,
    guardrailsCommands,
    batchCommands,
    usageCommands,
    operationCommands,
    backupCommands,
    drillCommand,
  ])
    add(program);
  doctorCommand(program, version);
}
