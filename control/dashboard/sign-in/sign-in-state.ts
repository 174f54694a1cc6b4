/**
 * What the browser keeps while its user is at the provider (RFC 6749 section 10.12, RFC 7636, OpenID Connect Core 15.5.2):
 * encrypted, so that neither a page nor another site can read or make it.
 */
import { hkdfSync } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";
import type { VerbContext } from "../../kernel/context.ts";
import { claimOnce } from "../../kernel/idempotency.ts";

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
  readonly #options: Pick<VerbContext, "db" | "now">;

  constructor(sessionSecret: string, options: Pick<VerbContext, "db" | "now">) {
    this.#key = new Uint8Array(hkdfSync("sha256", sessionSecret, "", "gateway-dashboard-sign-in", 32));
    this.#options = options;
  }

  async seal(state: SignInState): Promise<string> {
    const seconds = Math.floor(this.#options.now().getTime() / 1000);
    return await new EncryptJWT(state)
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setExpirationTime(seconds + SIGN_IN_SECS)
      .encrypt(this.#key);
  }

  /** What was sealed, once. Null: it is not one of ours, too old, or was taken before, in whichever process. */
  async take(sealed: string): Promise<SignInState | null> {
    const state = await this.#open(sealed);
    if (state === null) return null;
    const until = new Date(this.#options.now().getTime() + SIGN_IN_SECS * 1000);
    return (await claimOnce(this.#options, "sign-in", state.state, until)) ? state : null;
  }

  async #open(sealed: string): Promise<SignInState | null> {
    try {
      const options = {
        currentDate: this.#options.now(),
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
