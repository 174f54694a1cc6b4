/** The forms of keys, by the table of their fields. */
import { KEY_FIELDS } from "../../../shared/fields/key-fields.ts";
import { createKeySchema, updateKeySchema } from "../../../shared/schema/api-key.ts";
import { fieldSpecs } from "../record/field-specs.ts";

/** What a key gets when it is created. */
export const CREATE_KEY = {
  schema: createKeySchema,
  specs: fieldSpecs(Object.keys(createKeySchema.shape), KEY_FIELDS),
} as const;

/** What of a key can be changed in one form. */
export const EDIT_KEY = {
  schema: updateKeySchema,
  specs: fieldSpecs(Object.keys(updateKeySchema.shape), KEY_FIELDS),
} as const;
