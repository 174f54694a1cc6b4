/** The kinds of failed calls to an object, by the flags that the platform sets on its errors. */
import { rootCause } from "../../../shared/text/root-cause.ts";

/** Whether the caller may try again. */
export function mayCallAgain(error: unknown): boolean {
  return hasFlag(error, "retryable") && !isOverloaded(error);
}

export function isOverloaded(error: unknown): boolean {
  return hasFlag(error, "overloaded");
}

/** Whether the storage of the object has no room. */
export function isDiskFull(error: unknown): boolean {
  return rootCause(error).includes("SQLITE_FULL");
}

function hasFlag(error: unknown, flag: "retryable" | "overloaded"): boolean {
  return typeof error === "object" && error !== null && (error as Readonly<Record<string, unknown>>)[flag] === true;
}
