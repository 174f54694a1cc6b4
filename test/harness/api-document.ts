/** The Management API's document as tests read it: its operations, and a check whether a value matches a schema. */

import { createRequire } from "node:module";
import { Ajv2020, type AnySchemaObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";

const addFormats = createRequire(import.meta.url)("ajv-formats") as FormatsPlugin;

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly example?: unknown;
  readonly schema: AnySchemaObject;
}

interface Content {
  readonly schema: AnySchemaObject;
  readonly example?: unknown;
}

interface Answer {
  readonly description: string;
  readonly content?: Readonly<Record<string, Content>>;
  readonly headers?: Readonly<Record<string, object>>;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Empty for the routes that need no token. */
  readonly security?: readonly object[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

/** As the document has it: with references to schemas elsewhere in it. */
type Written = Omit<Operation, "method" | "path" | "parameters" | "responses"> & {
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, Answer | { $ref: string }>>;
};

export type ApiDocument = ReturnType<typeof readDocument>;

export function readDocument(text: string) {
  const document = JSON.parse(text) as {
    paths: Record<string, Record<string, Written>>;
    components: { schemas: Record<string, AnySchemaObject>; responses: Record<string, Answer> };
  };
  const answerOf = (answer: Answer | { $ref: string }): Answer => {
    if (!("$ref" in answer)) return answer;
    const shared = document.components.responses[answer.$ref.split("/").at(-1) ?? ""];
    if (shared === undefined) throw new Error(`${answer.$ref} is nowhere`);
    return shared;
  };
  const ajv = addFormats(new Ajv2020({ strict: false, allErrors: true }));
  const compiled = new Map<AnySchemaObject, ValidateFunction>();
  return {
    text,
    operations: Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { parameters = [], responses, ...operation }]): Operation => ({
          ...operation,
          parameters,
          responses: Object.fromEntries(
            Object.entries(responses).map(([status, answer]) => [status, answerOf(answer)]),
          ),
          method,
          path,
        }),
      ),
    ),
    complaints: (schema: AnySchemaObject, value: unknown): readonly string[] => {
      const validate = compiled.get(schema) ?? ajv.compile({ ...schema, components: document.components });
      compiled.set(schema, validate);
      if (validate(value)) return [];
      return (validate.errors ?? []).map((error) => `${error.instancePath || "body"} ${error.message}`);
    },
    /** The schema that a reference names, or the schema itself. */
    resolved: (schema: AnySchemaObject): AnySchemaObject => {
      const name = typeof schema["$ref"] === "string" ? schema["$ref"].split("/").at(-1) : undefined;
      return (name === undefined ? undefined : document.components.schemas[name]) ?? schema;
    },
  };
}
