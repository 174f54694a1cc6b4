/**
 * `npm run provisioner`: the provisioner in a process of its own, against a Management API anywhere
 * (docs/rules/provisioner.md#where-it-runs). Ends after the tick that is under way.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { terminalText } from "../../shared/text/printable.ts";
import { checkNames } from "../kernel/check-names.ts";
import { EnvError } from "../kernel/env-field.ts";
import { createLog, type Logger } from "../kernel/log.ts";
import { composeProvisioner } from "./compose-provisioner.ts";
import { type LoneProvisionerEnv, parseLoneProvisionerEnv } from "./provisioner-env.ts";

const ending = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());

try {
  const log = createLog();
  checkNames(process.env, (warning) => log.warn(warning));
  await runUntilEnd(parseLoneProvisionerEnv(process.env), log);
} catch (error) {
  if (!(error instanceof EnvError)) throw error;
  process.stderr.write(`${terminalText(error.message)}\n`);
  process.exitCode = 1;
}

async function runUntilEnd(env: LoneProvisionerEnv, log: Logger): Promise<void> {
  const provisioner = composeProvisioner({ env, ...env, holder: randomUUID(), log });
  log.info({ event: "provisioner_started", every_ms: env.intervalMs });
  let last = "";
  while (!ending.signal.aborted) {
    const { outcome, error: _, ...counts } = await provisioner.tick();
    const hasChanged =
      outcome !== last || (counts.submitted ?? 0) + (counts.cancelled ?? 0) + (counts.promoted ?? 0) > 0;
    if (hasChanged) log.info({ event: "provisioner_tick", outcome, ...counts });
    last = outcome;
    await pause(env.intervalMs, undefined, { signal: ending.signal }).catch(() => undefined);
  }
  provisioner.end();
}
