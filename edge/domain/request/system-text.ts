/**
 * Text that the gateway adds to a chat request for the model: it joins the first system or developer message, or becomes
 * one. For a model without system messages it joins the first user message.
 */
import { jsonObjectOf } from "../wire/json/document.ts";

/** The messages with the text; null: it has no place in them. `messages` is not changed. */
export function withSystemText(messages: unknown, text: string, systemMessages: boolean): readonly unknown[] | null {
  if (!Array.isArray(messages)) return null;
  const given: readonly unknown[] = messages;
  const roles: readonly unknown[] = systemMessages ? ["system", "developer"] : ["user"];
  const at = given.findIndex((message) => roles.includes(jsonObjectOf(message)?.["role"]));
  if (at < 0) return systemMessages ? [{ role: "system", content: text }, ...given] : null;
  const message = jsonObjectOf(given[at]);
  const content = joined(message?.["content"], text);
  return content === null ? null : given.with(at, { ...message, content });
}

/** A message's content with the text after it; null: the content is neither text nor a list of parts. */
function joined(content: unknown, text: string): unknown {
  if (Array.isArray(content)) return [...(content as readonly unknown[]), { type: "text", text }];
  if (content == null || content === "") return text;
  return typeof content === "string" ? `${content}\n\n${text}` : null;
}
