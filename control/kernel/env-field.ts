/** What the configurations of the control service and of the console have in common. */
import { z } from "zod";
import { envText } from "../../shared/env-fields.ts";

/** Thrown for a configuration that cannot be used: one line that names every invalid variable. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

/** An address to listen on. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, or the fallback. */
export const listenField = (fallback: string) =>
  envText(fallback).transform((value, context) => listenOf(value) ?? refused(context));

/** `host:port`, or null when blank. */
export const optionalListenField = envText("").transform((value, context) =>
  value === "" ? null : (listenOf(value) ?? refused(context)),
);

function listenOf(value: string): Listen | null {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  return match?.[1] !== undefined && port <= 65_535 ? { host: match[1].replace(/^\[|\]$/g, ""), port } : null;
}

function refused(context: z.core.$RefinementCtx): never {
  context.addIssue({ code: "custom", message: "must be host:port" });
  return z.NEVER;
}
