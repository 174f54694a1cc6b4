/** The pages of the console by who sees them, in the order of the navigation. */
import { Gauge, KeyRound, type LucideIcon, Plug, Scale, ScrollText, Settings, Users } from "lucide-react";

interface NavigationEntry {
  readonly to: "/" | "/fairshare" | "/logs" | "/tenants" | "/keys" | "/mcp" | "/settings";
  /** Identifier of its text in the catalogue of pages. */
  readonly text: "overview" | "fairshare" | "logs" | "tenants" | "keys" | "mcp" | "settings";
  readonly icon: LucideIcon;
  /** Who sees it. */
  readonly roles: readonly ("admin" | "user")[];
}

const NAVIGATION: readonly NavigationEntry[] = [
  { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
  { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
  { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
  { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
  { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
  { to: "/mcp", text: "mcp", icon: Plug, roles: ["admin"] },
  { to: "/settings", text: "settings", icon: Settings, roles: ["admin"] },
];

/** What a role can go to. */
export function navigationOf(role: "admin" | "user"): readonly NavigationEntry[] {
  return NAVIGATION.filter(({ roles }) => roles.includes(role));
}
