/**
 * What an update does to a stored secret (docs/rules/secrets.md#updates): omitted or null keeps it, "" clears it, a
 * text replaces it, sealed when an encryption key is configured.
 */
import { seal } from "../../shared/crypto/seal.ts";
import type { VerbContext } from "./context.ts";

/** The new value of the column. */
export async function sealNewSecret(
  ctx: VerbContext,
  given: string | null | undefined,
  stored: string | null,
): Promise<string | null> {
  if (given === undefined || given === null) return stored;
  return given === "" ? null : await seal(given, ctx.sealKey);
}
