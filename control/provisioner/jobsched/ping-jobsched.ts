/**
 * Tests the connection to the job scheduler: when the token says that it expires, and one ping
 * (docs/rules/settings.md#job-scheduler). The token is decoded but not verified; only the scheduler can verify it.
 */
import { z } from "zod";
import { unseal } from "../../../shared/crypto/seal.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { JobschedTest } from "../../../shared/schema/settings/jobsched.ts";
import type { VerbContext } from "../../kernel/context.ts";
import { jobschedSetting } from "../../kernel/settings/definitions.ts";
import { readSetting } from "../../kernel/settings/setting.ts";
import { pingScheduler } from "./scheduler-ping.ts";

/** The last second of the year 9999, the last year that a timestamp in an answer can have. */
const LAST_SECOND = 253_402_300_799;
const claimsSchema = z.object({ exp: z.number().min(0).max(LAST_SECOND) });

/** The outcome. Throws 400 `jobsched_not_configured`. */
export async function testJobsched(ctx: VerbContext): Promise<JobschedTest> {
  const { value } = await readSetting(ctx, jobschedSetting);
  if (value.url === "") throw new GatewayError("jobsched_not_configured");
  const token = value.token === null ? null : await unseal(value.token, ctx.sealKey);
  const ping = await pingScheduler({ ...value, token });
  return { token: { set: token !== null, ...expiryOf(token, ctx.now()) }, ping };
}

function expiryOf(token: string | null, now: Date): Omit<JobschedTest["token"], "set"> {
  const claims = claimsSchema.safeParse(claimsOf(token ?? ""));
  if (!claims.success) return { expired: false, expires_at: null, expires_in_secs: null };
  const inSecs = Math.floor(claims.data.exp - now.getTime() / 1000);
  return { expired: inSecs <= 0, expires_at: new Date(claims.data.exp * 1000).toISOString(), expires_in_secs: inSecs };
}

/** The claims of a JWT; null for any other text. */
function claimsOf(token: string): unknown {
  const [, payload, signature] = token.split(".");
  if (payload === undefined || signature === undefined) return null;
  try {
    return JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
  } catch {
    return null;
  }
}
