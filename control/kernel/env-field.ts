/** What the configurations of the control service and of the console have in common. */
import { z } from "zod";
import { envText, envWebUrl } from "../../shared/env/env-fields.ts";

/** Thrown for a configuration that cannot be used: one line that names every invalid variable. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

/** An address to listen on. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

const LISTEN_VALUES = "`host:port`";

/** `host:port`, or the fallback. */
export const listenField = (fallback: string) =>
  envText(fallback)
    .transform((value, context) => listenOf(value) ?? refused(context))
    .meta({ values: LISTEN_VALUES, default: `\`${fallback}\`` });

/** `host:port`, or null when blank. */
export const optionalListenField = envText("")
  .transform((value, context) => (value === "" ? null : (listenOf(value) ?? refused(context))))
  .meta({ values: LISTEN_VALUES });

function listenOf(value: string): Listen | null {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  return match?.[1] !== undefined && port <= 65_535 ? { host: match[1].replace(/^\[|\]$/g, ""), port } : null;
}

function refused(context: z.core.$RefinementCtx): never {
  context.addIssue({ code: "custom", message: "must be host:port" });
  return z.NEVER;
}

/** Text that must be there; `error` says what to set. */
export const requiredField = (error: string) =>
  z
    .string({ error })
    .refine((text) => text.trim() !== "", error)
    .meta({ default: "required" });

/** Where a process that runs beside the control service finds the Management API, without a slash at its end. */
export const adminBaseUrlField = envWebUrl("http://localhost:9180")
  .transform((url) => url.replace(/\/+$/, ""))
  .meta({ values: "an http or https URL" })
  .describe("URL at which a standalone console or provisioner reaches the Management API.");
