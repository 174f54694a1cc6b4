/** The JSON Schema validator: an interpreter, because a Worker may not generate code. It is given bounded schemas only. */
import { dereference, validate } from "@cfworker/json-schema";
import type { SchemaValidator } from "../domain/json-schema/check-value.ts";

/** Every error counts: the model that repairs a value gets all of them at once. */
export const validateJsonSchema: SchemaValidator = (schema, value) =>
  validate(value, schema as never, "2020-12", dereference(schema as never), false).errors;
