/** Why a test of an MCP server failed, in words. Pure. */
import { mcpServerTexts } from "../../messages/en/mcp-server.ts";
import { texts } from "../../messages/texts.ts";

const text = texts("mcp-server", mcpServerTexts);

/** The answer of a test (docs/rules/mcp.md#test); what nobody has words for stays as it is. */
export function trialError(error: string | null): string {
  if (error === null) return "";
  if (/^http 40[13]$/.test(error)) return text("error_refused", { error });
  const id = Object.hasOwn(WORDS, error) ? WORDS[error] : undefined;
  return id === undefined ? error : text(id);
}

const WORDS: Readonly<Record<string, keyof typeof mcpServerTexts>> = {
  timeout: "error_timeout",
  "connect failed": "error_connect",
  "address blocked": "error_blocked",
  "answer too large": "error_large",
  "credential does not open": "error_credential",
};
