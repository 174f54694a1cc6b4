/**
 * Durable Objects of a stack that cannot be reached: a folder is put where an object's database file belongs, so that every
 * call to the object fails until the folder is removed. It must be there before the object's first call.
 */
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { idFromName } from "../cluster/object-owner.ts";

/** Makes an object unreachable; returns the function that makes it reachable again. */
export function blockObject(
  dataDir: string,
  className: "Cell" | "Ledger" | "TenantBudget",
  name: string,
): { restore(): void } {
  const namespace = `gateway-${className}`;
  const path = join(dataDir, "objects", namespace, `${idFromName(namespace, name)}.sqlite`);
  mkdirSync(path, { recursive: true });
  return { restore: () => rmdirSync(path) };
}

/** The alerts that the control service has logged, from a stack's lines of output. */
export function alertsIn(lines: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
  return lines
    .filter((line) => line.startsWith("control | ") && line.includes('"event":"alert"'))
    .map((line) => JSON.parse(line.slice("control | ".length)) as Record<string, unknown>);
}
