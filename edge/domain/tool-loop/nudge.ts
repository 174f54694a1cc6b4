/**
 * The text that tells a model that it has tools (docs/rules/tool-loop.md#nudge): it joins the first system or developer
 * message, or becomes one. For a model without system messages it joins the first user message.
 */
import { isJsonObject, type JsonObject } from "../json/document.ts";

/** The messages with the text; the messages themselves when it has no place. */
export function withNudge(messages: readonly unknown[], text: string, systemMessages: boolean): readonly unknown[] {
  const roles = systemMessages ? ["system", "developer"] : ["user"];
  const at = messages.findIndex((message) => isJsonObject(message) && roles.includes(String(message["role"])));
  const message = messages[at];
  if (isJsonObject(message)) {
    const content = joined(message["content"], text);
    return content === null ? messages : messages.with(at, { ...message, content } satisfies JsonObject);
  }
  return systemMessages ? [{ role: "system", content: text }, ...messages] : messages;
}

function joined(content: unknown, text: string): unknown {
  if (typeof content === "string") return content === "" ? text : `${content}\n\n${text}`;
  return Array.isArray(content) ? [...(content as readonly unknown[]), { type: "text", text }] : null;
}
