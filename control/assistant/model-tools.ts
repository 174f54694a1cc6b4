/**
 * What the model is offered, and what its calls mean (docs/rules/assistant.md#tools). Pure. There is a tool for each read;
 * for all writes together there are two: one describes a change, the other proposes it. No call means a write: the
 * most that comes out of one is a proposal.
 */

import { isStorableJson } from "../../shared/schema/common.ts";
import { visibleJson } from "../../shared/text/printable.ts";
import type { JsonSchema } from "../kernel/json-schema.ts";
import { unknownFields } from "../kernel/unknown-field.ts";
import type { AssistantOperation } from "./operations.ts";

/** A tool in the form of chat completions. */
export interface ModelTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema };
}

/** A call as the model wrote it. */
export interface ModelCall {
  readonly id: string;
  readonly name: string;
  /** JSON, if the model kept to it. */
  readonly arguments: string;
}

/** A request of the Management API, completely named. */
export interface ApiCall {
  readonly method: string;
  /** Below /api/v1, with its parameters and its query. */
  readonly path: string;
  /** JSON; null: none. */
  readonly body: string | null;
}

/** What a call means. */
type CheckedCall =
  | { readonly kind: "read"; readonly operation: AssistantOperation; readonly call: ApiCall }
  | { readonly kind: "propose"; readonly operation: AssistantOperation; readonly call: ApiCall }
  /** Answered at once with a text of our own. */
  | { readonly kind: "answer"; readonly isRefusal: boolean; readonly text: string };

const DESCRIBE_CHANGE = "describe_change";
const PROPOSE_CHANGE = "propose_change";

/** A proposal travels to the browser and back. */
const BODY_MAX_CHARACTERS = 64 * 1024;
const VALUE_MAX_CHARACTERS = 1000;
const NAMED_MAX_CHARACTERS = 200;

/** The tools for these operations; those that read, and where there are writes, the two for them. */
export function modelTools(operations: readonly AssistantOperation[]): readonly ModelTool[] {
  const writes = operations.filter((one) => one.writes);
  return [...operations.filter((one) => !one.writes).map(readTool), ...(writes.length === 0 ? [] : writeTools(writes))];
}

/** What a call of the model means, given the operations that are on. */
export function checkCall(call: ModelCall, operations: readonly AssistantOperation[]): CheckedCall {
  const given = parsed(call.arguments);
  if (given === null) return refusal("the arguments must be one JSON object, nested at most 64 deep");
  if (call.name === DESCRIBE_CHANGE || call.name === PROPOSE_CHANGE) {
    const operation = operations.find((one) => one.writes && one.name === given["change"]);
    if (operation === undefined)
      return refusal("`change` must be one of the changes that are listed with the tool; others are switched off");
    if (call.name === DESCRIBE_CHANGE) return { kind: "answer", isRefusal: false, text: described(operation) };
    return checkChange(operation, given);
  }
  const operation = operations.find((one) => !one.writes && one.name === call.name);
  if (operation === undefined) return refusal("there is no such tool, or it is switched off");
  const path = addressOf(operation, given);
  if (typeof path !== "string") return path;
  return { kind: "read", operation, call: { method: operation.method, path, body: null } };
}

function checkChange(operation: AssistantOperation, given: Fields): CheckedCall {
  const path = addressOf(operation, isFields(given["parameters"]) ? given["parameters"] : {});
  if (typeof path !== "string") return path;
  const body = given["body"] ?? (operation.body === null ? null : {});
  const wrong = bodyProblem(operation, body);
  if (wrong !== null) return refusal(`${wrong}. ${described(operation)}`);
  // What is sent is what a person is shown: no character of it may change how the rest looks.
  const text = operation.body === null ? null : visibleJson(JSON.stringify(body));
  if ((text?.length ?? 0) > BODY_MAX_CHARACTERS)
    return refusal(`the body must have at most ${BODY_MAX_CHARACTERS} characters`);
  return { kind: "propose", operation, call: { method: operation.method, path, body: text } };
}

/** What is wrong with a body; null: nothing that shows before the Management API checks it. */
function bodyProblem({ body: schema }: AssistantOperation, body: unknown): string | null {
  if (schema === null) return body === null ? null : "this change takes no `body`";
  if (!isFields(body)) return "`body` must be an object";
  const unknown = [...unknownFields(schema, body)][0]?.path.join(".");
  if (unknown !== undefined)
    return `\`body\` has the unknown field ${JSON.stringify(unknown.slice(0, NAMED_MAX_CHARACTERS))}`;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const missing = required.find((name) => typeof name === "string" && !Object.hasOwn(body, name));
  return missing === undefined ? null : `\`body\` lacks the field ${JSON.stringify(missing)}`;
}

/** The path with its parameters and query, or why there is none. */
function addressOf(operation: AssistantOperation, given: Fields): string | CheckedCall {
  const givenText = (name: string): string | null => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const text = ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";
    return text === "" || text.length > VALUE_MAX_CHARACTERS || !text.isWellFormed() ? null : text;
  };
  let path = operation.path;
  for (const name of operation.pathNames) {
    const value = givenText(name);
    if (value === null || /^\.{1,2}$|[/\\]/.test(value))
      return refusal(`\`${name}\` must be given: it names the object. ${described(operation)}`);
    path = path.replace(`{${name}}`, () => encodeURIComponent(value));
  }
  const query = new URLSearchParams();
  for (const name of Object.keys(operation.query)) {
    const value = givenText(name);
    if (value !== null) query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

function readTool({ name, summary, pathNames, query }: AssistantOperation): ModelTool {
  const properties = {
    ...query,
    ...Object.fromEntries(pathNames.map((one) => [one, { type: "string" }])),
  };
  return tool(name, summary, { type: "object", properties, required: pathNames });
}

function writeTools(writes: readonly AssistantOperation[]): readonly ModelTool[] {
  const list = writes.map(({ name, summary }) => `${name}: ${summary}`).join("\n");
  const change = { type: "string", enum: writes.map(({ name }) => name) };
  return [
    tool(DESCRIBE_CHANGE, `Says which parameters and fields a change takes. Changes:\n${list}`, {
      type: "object",
      properties: { change },
      required: ["change"],
    }),
    tool(
      PROPOSE_CHANGE,
      "Shows the person a card with the exact change and its effect. Nothing happens until the person presses Run.",
      {
        type: "object",
        properties: {
          change,
          parameters: { type: "object", description: "The names in the path, and the query" },
          body: { type: "object" },
        },
        required: ["change"],
      },
    ),
  ];
}

function tool(name: string, description: string, parameters: JsonSchema): ModelTool {
  return { type: "function", function: { name, description, parameters } };
}

function described({ name, summary, pathNames, query, body }: AssistantOperation): string {
  return JSON.stringify({ change: name, does: summary, parameters: [...pathNames, ...Object.keys(query)], body });
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): Fields | null {
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    // What is nested too deeply could not even be written down again.
    return isFields(value) && isStorableJson(value) ? value : null;
  } catch {
    return null;
  }
}

function refusal(text: string): CheckedCall {
  return { kind: "answer", isRefusal: true, text };
}
