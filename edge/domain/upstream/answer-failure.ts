/**
 * Whether a 2xx answer is an error of its upstream, classified by its start: a JSON document without a result, or the first event
 * of a stream, that has an `error` or the name of one (docs/rules/upstream-calls.md#errors-in-a-2xx). Pure: it classifies the part
 * received so far.
 */
import { isJsonObject, type JsonObject } from "../wire/json/document.ts";

/** The error: the status that it names, and the JSON document that contains it. */
export interface AnswerFailure {
  readonly status: number;
  readonly text: string;
}

/** `unclear`: more of the answer is needed. */
type Verdict = AnswerFailure | "passes" | "unclear";

const ERROR_NAME = '"error"';
/** The status of an error that names none. */
const UNNAMED_STATUS = 502;
/** Members that contain the requested result. */
const RESULTS = ["choices", "output", "content", "data", "results", "text", "completion", "tokens", "embeddings"];
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/;
/** Classifies the start of a JSON document: more of it is needed only while its first name is `error`, or may become it. */
export function classifyDocument(text: string, isWhole: boolean): Verdict {
  const failure = failureIn(text);
  if (failure !== null) return failure;
  if (isWhole) return "passes";
  const begun = /^\s*\{\s*(.*)/s.exec(text)?.[1];
  const mayFail = begun !== undefined && (ERROR_NAME.startsWith(begun) || begun.startsWith(ERROR_NAME));
  return mayFail ? "unclear" : "passes";
}

/** Classifies the start of an event stream. Comments are not events, but the events after them may already be on their way. */
export function classifyEvents(text: string, isWhole: boolean): Verdict {
  const events = text.split(BLANK_LINE);
  const rest = isWhole ? "" : events.pop();
  for (const event of events) {
    const data = fieldOf(event, "data");
    if (data !== "") return failureIn(data) ?? (fieldOf(event, "event").trim() === "error" ? named(data) : "passes");
  }
  return rest === "" ? "passes" : "unclear";
}

function fieldOf(event: string, field: string): string {
  const lines = event.split(/\r\n?|\n/).filter((line) => line.startsWith(`${field}:`));
  return lines.map((line) => line.slice(field.length + 1)).join("\n");
}

/** A failure that only the name of its event shows, as a document that shows it too. */
function named(data: string): AnswerFailure {
  const document = parsed(data);
  const error = isJsonObject(document) ? (document["error"] ?? document) : { message: data.trim() };
  return { status: namedStatus(error), text: JSON.stringify({ error }) };
}

function failureIn(text: string): AnswerFailure | null {
  if (!text.includes(ERROR_NAME)) return null;
  const document = parsed(text);
  if (!isJsonObject(document) || !document["error"] || RESULTS.some((name) => isResult(document[name]))) return null;
  return { status: namedStatus(document["error"]), text };
}

/** Whether a document contains an answer: no known member for one is empty, or it has others. */
export function hasResult(document: unknown): boolean {
  if (!isJsonObject(document)) return Array.isArray(document) && document.length > 0;
  const members = RESULTS.filter((name) => name in document);
  return members.length === 0
    ? Object.keys(document).some((name) => name !== "type")
    : members.some((name) => isResult(document[name]));
}

function isResult(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function namedStatus(error: unknown): number {
  const { code, status }: JsonObject = isJsonObject(error) ? error : {};
  return [code, status].map(Number).find(isErrorStatus) ?? UNNAMED_STATUS;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
