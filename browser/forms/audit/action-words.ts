/** Actions of the audit log in words, and back. Pure. */

/** Names that only the API has, and what the console calls them. Words lead back to one name. */
const WORDS = [
  ["managed_model", "deployment"],
  ["model_endpoint", "endpoint"],
  ["group_grant", "role of a group"],
  ["auto_router", "routing"],
  ["jobsched", "job scheduler"],
  ["allowlist", "allowed models"],
  ["boon", "add-on"],
  ["mcp", "MCP"],
  ["put", "save"],
  ["patch", "edit"],
  ["resync", "sync all cells"],
] as const;

/** `put_managed_model` as `Save deployment`. */
export function actionText(action: string): string {
  const words = WORDS.reduce((said, [name, word]) => replaced(said, name, word), action).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The action that words mean, as the API's filter takes it: matching is exact. */
export function actionNamed(words: string): string {
  const typed = words.trim().toLowerCase().replace(/\s+/g, " ");
  if (typed.includes("_")) return typed;
  return WORDS.reduce((said, [name, word]) => replaced(said, word.toLowerCase(), name), typed).replaceAll(" ", "_");
}

/** Whole words alone: `put` is none of `output`. */
function replaced(text: string, from: string, to: string): string {
  return text.replace(new RegExp(`(?<![a-z])${from}(?![a-z])`, "g"), to);
}
