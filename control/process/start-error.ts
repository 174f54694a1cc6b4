/** Why a process cannot start, in one line without a secret and without a statement. */
import { terminalText } from "../../shared/text/printable.ts";
import { DatabaseLocked } from "../db/folder-lock.ts";
import { EncryptionKeyError } from "../kernel/encryption/encryption-check.ts";
import { EnvError } from "../kernel/env-field.ts";
import { SharedSecretsError } from "./shared-secrets.ts";

/** Runs the start of a process, `name` in its error messages. When it fails: one line on standard error, exit code 1. */
export async function startOrExit(name: string, start: () => Promise<void>): Promise<void> {
  try {
    await start();
  } catch (error) {
    process.stderr.write(`${terminalText(messageOf(name, error))}\n`);
    process.exit(1);
  }
}

function messageOf(name: string, error: unknown): string {
  const said = [EnvError, DatabaseLocked, EncryptionKeyError, SharedSecretsError].some((kind) => error instanceof kind);
  if (said) return (error as Error).message;
  return `${name} cannot start: ${innermost(error).message.split("\n")[0]}`;
}

/** The original error: the errors that wrap it quote the executed statement, which must not be logged. */
export function innermost(error: unknown): Error {
  let at = error;
  while (at instanceof Error && at.cause instanceof Error) at = at.cause;
  if (at instanceof Error) return at.cause instanceof Event ? new Error("the database cannot be reached") : at;
  return new Error(at instanceof Event ? "the database cannot be reached" : "unknown failure");
}
