/**
 * The error for a field that is wrong (docs/rules/errors.md#wrong-fields): 400 `validation_failed`, naming the field
 * and the fix.
 */
import { GatewayError } from "../../../shared/errors.ts";
import type { FieldFault } from "../../domain/request/client-fields.ts";

/** The error for one faulty field. */
export function fieldError({ param, message }: FieldFault): GatewayError {
  return new GatewayError("validation_failed", { param, complaint: message });
}
