/**
 * A text that the target of a translation would examine is examined where the client put it: passed-on and translated members
 * follow the rule of the target API.
 *
 * @module-tag check
 */
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../../shared/errors.ts";
import { atOnce } from "../../../shared/steps.ts";
import { translationOf } from "../dialect/translation.ts";
import { routeClassOf } from "../request/route-class.ts";
import type { JsonObject } from "../wire/json/document.ts";
import { guardedTexts } from "./request-texts.ts";
import { textScopeOf } from "./text-scopes.ts";

const SAID = "blue falcon";
const CHAT = "/v1/chat/completions";
const ROUTES = ["/v1/responses", "/v1/messages", CHAT] as const;
const TARGETS = { openai: CHAT, anthropic: "/v1/messages" } as const;
/** Names whose content is not examined on a path without a rule, and one that has none of these meanings. */
const HOLDERS = ["model", "models", "stop", "stop_sequences", "tool_choice", "url", "image_url", "file_data", "plain"];

const scopeOf = (path: string) => textScopeOf(path, routeClassOf(path));

/** Every member that has a rule on some route, and members that have none. */
const MEMBERS = [
  ...new Set([
    ...scopeOf("/any/path").keys(),
    ..."model user metadata stop stop_sequences tool_choice store thinking reasoning top_k logit_bias seed zz".split(
      " ",
    ),
  ]),
];

function isExamined(path: string, body: JsonObject): boolean {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const { prompts, others, toolResults } = atOnce(guardedTexts([bytes], scopeOf(path), true));
  return [...prompts, ...others, ...toolResults.flat()].some(({ text }) => text.includes(SAID));
}

/** The members of a request that Messages show their model; a path without its own rules is examined everywhere. */
const SHOWN = ["system", "messages", "tools", "output_config"];

/** The parts of a body that a target examines because its model may read them. */
function isExaminedAt(dialect: keyof typeof TARGETS, sent: JsonObject): boolean {
  const shown = Object.entries(sent).filter(([name]) => dialect === "openai" || SHOWN.includes(name));
  return isExamined(TARGETS[dialect], Object.fromEntries(shown));
}

/** Shapes in which a client can hide a text below a name. */
function* hidden(holder: string): Generator<unknown> {
  const schema = { type: "object", properties: { [holder]: { type: "string", description: SAID } } };
  yield { [holder]: SAID };
  yield [{ [holder]: SAID }];
  yield { type: "json_schema", json_schema: { name: "x", schema } };
  yield { type: "json_schema", schema };
  yield { format: { type: "json_schema", name: "x", schema } };
  yield [{ name: "f", input_schema: schema, parameters: schema }];
  yield [{ type: "function", name: "f", parameters: schema, function: { name: "f", parameters: schema } }];
}

/** The body as the target gets it; null: it is refused. */
function translated(path: string, dialect: "openai" | "anthropic", body: JsonObject): JsonObject | null {
  try {
    const translation = translationOf(path, dialect, { createdSecs: 0, usageAsked: false });
    return translation === null ? null : atOnce(translation.request(body));
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

describe.each(ROUTES)("a text in a member of %s", (path) => {
  it.each(["openai", "anthropic"] as const)("is examined if it would be at a model of %s", (dialect) => {
    let carried = 0;
    const missed: string[] = [];
    for (const member of MEMBERS)
      for (const holder of HOLDERS)
        for (const value of hidden(holder)) {
          const own = path === "/v1/responses" ? { input: "hi" } : { max_tokens: 9, messages: [] };
          const body = { model: "m", ...own, [member]: value };
          const sent = translated(path, dialect, body);
          if (sent === null || !isExaminedAt(dialect, sent)) continue;
          carried += 1;
          if (!isExamined(path, body)) missed.push(`${member} ${JSON.stringify(value)}`);
        }
    const isTranslated = translationOf(path, dialect, { createdSecs: 0, usageAsked: false }) !== null;
    expect({ missed, isCarried: carried > 0 }).toEqual({ missed: [], isCarried: isTranslated });
  });
});
