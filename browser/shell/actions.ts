/** What people want to do, and the page where they do it. Pure. */
import type { paletteTexts } from "../messages/en/palette.ts";

interface Action {
  readonly id: Exclude<keyof typeof paletteTexts, "note" | "whichModel">;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
  /** Of a model's page: the model is asked for first. */
  readonly modelTab?: "health" | "connection";
  readonly roles: readonly ("admin" | "user")[];
  /** Nobody who can only read can do it. */
  readonly writes?: true;
}

const ACTIONS: readonly Action[] = [
  { id: "budgets", to: "/reports", roles: ["admin"] },
  { id: "tenantLimits", to: "/tenants", roles: ["admin"] },
  { id: "limits", to: "/portal/limits", roles: ["user"] },
  { id: "slots", to: "/fairshare", roles: ["admin"] },
  { id: "maintenance", to: "/models", modelTab: "health", roles: ["admin"], writes: true },
  { id: "endpoint", to: "/models", modelTab: "connection", roles: ["admin"], writes: true },
  { id: "prices", to: "/prices", roles: ["admin"] },
  { id: "invite", to: "/users", roles: ["admin"], writes: true },
  { id: "groups", to: "/users", search: { tab: "groups" }, roles: ["admin"] },
  { id: "key", to: "/keys", roles: ["admin", "user"], writes: true },
  { id: "mute", to: "/alerts", roles: ["admin"], writes: true },
  { id: "channels", to: "/alerts", search: { tab: "channels" }, roles: ["admin"] },
  { id: "statement", to: "/reports/statement", roles: ["admin", "user"] },
  { id: "backup", to: "/settings", search: { tab: "backup" }, roles: ["admin"] },
  { id: "retention", to: "/settings", search: { tab: "retention" }, roles: ["admin"] },
  { id: "batch", to: "/batches", roles: ["admin", "user"], writes: true },
];

/** Those with the typed text in their words; none before anything is typed. */
export function actionsOf(
  { role, isReadOnly }: { readonly role: "admin" | "user"; readonly isReadOnly: boolean },
  typed: string,
  text: (id: Action["id"]) => string,
): readonly (Action & { readonly label: string })[] {
  const part = typed.toLowerCase();
  if (part === "") return [];
  return ACTIONS.filter(({ roles, writes }) => roles.includes(role) && !(isReadOnly && writes === true))
    .map((action) => ({ ...action, label: text(action.id) }))
    .filter(({ label }) => label.toLowerCase().includes(part));
}
