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
  envText(fallback).transform((value, context): Listen => {
    const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(value);
    const port = Number(match?.[2]);
    if (match?.[1] !== undefined && port <= 65_535) return { host: match[1].replace(/^\[|\]$/g, ""), port };
    context.addIssue({ code: "custom", message: "must be host:port" });
    return z.NEVER;
  });
