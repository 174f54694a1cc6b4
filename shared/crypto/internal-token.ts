/**
 * The token between the planes when none is configured (docs/rules/internal-traffic.md#internal-token). It is derived
 * from the admin token, so that both planes know it, and it differs from the admin token, which cannot be computed from
 * it.
 */

const INFO = "gateway-internal-token";
const BITS = 256;

/** What the configuration says of the tokens; undefined: unset. */
interface ConfiguredTokens {
  readonly internalToken: string | undefined;
  readonly internalTokenOld: string | undefined;
  readonly adminToken: string | undefined;
  readonly adminTokenOld: string | undefined;
}

/** The internal tokens that are accepted; calls carry the first. Empty when none is configured. */
export async function internalTokensOf(given: ConfiguredTokens): Promise<readonly string[]> {
  const derived = async (token: string | undefined) => (token === undefined ? token : await deriveInternalToken(token));
  const current = given.internalToken ?? (await derived(given.adminToken));
  // A configured token was never derived, so no old admin token is valid for it.
  const old =
    given.internalTokenOld ?? (given.internalToken === undefined ? await derived(given.adminTokenOld) : undefined);
  return [current, old].filter((token) => token !== undefined);
}

/** 64 hex digits, derived from an admin token by HKDF with SHA-256; both planes derive the same. */
export async function deriveInternalToken(adminToken: string): Promise<string> {
  const encoder = new TextEncoder();
  const secret = await crypto.subtle.importKey("raw", encoder.encode(adminToken), "HKDF", false, ["deriveBits"]);
  const salt = new Uint8Array();
  const bits = await crypto.subtle.deriveBits(
    { name: "HKDF", hash: "SHA-256", salt, info: encoder.encode(INFO) },
    secret,
    BITS,
  );
  return Array.from(new Uint8Array(bits), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
