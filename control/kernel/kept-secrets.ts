/**
 * The warnings when an address changes and its secret does not (docs/rules/secrets.md#secrets-and-addresses): the secret is
 * kept, as the contract says, and from now on it is sent to another origin. Nothing is refused here.
 */
import { originOf } from "../../shared/network/origin.ts";

interface Kept {
  /** The name of the secret's field. */
  readonly secret: string;
  /** The name of the address's field. */
  readonly address: string;
  /** The body neither replaced nor cleared the stored secret. */
  readonly kept: boolean;
}

/** One warning, or none when the secret was not kept or the origin is the same. */
export function keptSecretWarnings({ secret, address, kept }: Kept, before: string, after: string): readonly string[] {
  if (!kept || before === after) return [];
  if (after === "") return [`${address} is now blank; the stored ${secret} was kept`];
  return [`${address} now points to another origin; the stored ${secret} was kept and is sent to ${after}`];
}

/** True when a body leaves a stored secret as it is; an empty text clears it. */
export function isKept(given: string | null | undefined, stored: string | null): boolean {
  return (given === undefined || given === null) && stored !== null && stored !== "";
}

interface Inheriting {
  readonly name: string;
  readonly api_base: string;
  readonly api_key: string | null;
}

/**
 * Endpoints without a credential of their own send the model's. The result is one warning that names those of these
 * endpoints which lead to another origin than the model's address, and none for a model without a credential. When the
 * model has no address, its credential is meant for its endpoints, so that only an endpoint whose address has changed needs
 * a warning.
 */
export function inheritedKeyWarnings(
  model: { readonly api_base: string; readonly api_key: string | null },
  endpoints: readonly Inheriting[],
  { moved }: { readonly moved: boolean },
): readonly string[] {
  if (model.api_key === null || model.api_key === "") return [];
  const own = originOf(model.api_base);
  if (own === "" && !moved) return [];
  const elsewhere = endpoints.filter((row) => !row.api_key && originOf(row.api_base) !== own);
  if (elsewhere.length === 0) return [];
  const places = elsewhere.map((row) => `'${row.name}' (${originOf(row.api_base)})`);
  return [`the model's api_key is also sent to endpoints without their own: ${places.join(", ")}`];
}
