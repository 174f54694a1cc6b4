/**
 * What the browser keeps while its user is at the provider (RFC 6749 section 10.12, RFC 7636, OpenID Connect Core 15.5.2):
 * encrypted, so that neither a page nor another site can read or make it.
 */
import { hkdfSync } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";

/** How long a sign-in at a provider may take, in seconds. */
export const SIGN_IN_SECS = 600;

const stateSchema = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The path of the console to which the sign-in leads. */
  returnTo: z.string(),
});

export type SignInState = z.infer<typeof stateSchema>;

export class SignInStates {
  readonly #key: Uint8Array;
  readonly #now: () => Date;

  constructor(sessionSecret: string, now: () => Date) {
    this.#key = new Uint8Array(hkdfSync("sha256", sessionSecret, "", "gateway-dashboard-sign-in", 32));
    this.#now = now;
  }

  async seal(state: SignInState): Promise<string> {
    const seconds = Math.floor(this.#now().getTime() / 1000);
    return await new EncryptJWT(state)
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setExpirationTime(seconds + SIGN_IN_SECS)
      .encrypt(this.#key);
  }

  /** Null: it is not one of ours, or too old. */
  async open(sealed: string): Promise<SignInState | null> {
    try {
      const options = {
        currentDate: this.#now(),
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: ["A256GCM"],
        requiredClaims: ["exp"],
      };
      return stateSchema.parse((await jwtDecrypt(sealed, this.#key, options)).payload);
    } catch {
      return null;
    }
  }
}
