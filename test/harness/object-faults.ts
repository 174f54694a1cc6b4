/**
 * Durable Objects of a stack that cannot be reached: a folder is put where an object's database file belongs, so that every
 * call to the object fails until the folder is removed. It must be there before the object's first call.
 */
import { createHash, createHmac } from "node:crypto";
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** The id that workerd derives from an object's name: 16 bytes from the name, and 16 bytes of a mac over them. */
function idOf(className: string, name: string): string {
  const key = createHash("sha256").update(`gateway-${className}`).digest();
  const sign = (what: string | Buffer): Buffer => createHmac("sha256", key).update(what).digest().subarray(0, 16);
  const base = sign(name);
  return Buffer.concat([base, sign(base)]).toString("hex");
}

/** Makes an object unreachable; returns the function that makes it reachable again. */
export function blockObject(
  dataDir: string,
  className: "Cell" | "Ledger" | "TenantBudget",
  name: string,
): { restore(): void } {
  const path = join(dataDir, "objects", `gateway-${className}`, `${idOf(className, name)}.sqlite`);
  mkdirSync(path, { recursive: true });
  return { restore: () => rmdirSync(path) };
}

/** The alerts that the control service has logged, from a stack's lines of output. */
export function alertsIn(lines: readonly string[]): readonly Readonly<Record<string, unknown>>[] {
  return lines
    .filter((line) => line.startsWith("control | ") && line.includes('"event":"alert"'))
    .map((line) => JSON.parse(line.slice("control | ".length)) as Record<string, unknown>);
}
