/** The pages of the console by who sees them, in the order of the navigation. */
import { Boxes, Gauge, KeyRound, type LucideIcon, Scale, ScrollText, Users } from "lucide-react";

interface NavigationEntry {
  readonly to: "/" | "/fairshare" | "/logs" | "/tenants" | "/keys" | "/deployments";
  /** Identifier of its text in the catalogue of pages. */
  readonly text: "overview" | "fairshare" | "logs" | "tenants" | "keys" | "deployments";
  readonly icon: LucideIcon;
  /** Who sees it. */
  readonly roles: readonly ("admin" | "user")[];
}

const NAVIGATION: readonly NavigationEntry[] = [
  { to: "/", text: "overview", icon: Gauge, roles: ["admin"] },
  { to: "/fairshare", text: "fairshare", icon: Scale, roles: ["admin"] },
  { to: "/logs", text: "logs", icon: ScrollText, roles: ["admin", "user"] },
  { to: "/tenants", text: "tenants", icon: Users, roles: ["admin"] },
  { to: "/deployments", text: "deployments", icon: Boxes, roles: ["admin"] },
  { to: "/keys", text: "keys", icon: KeyRound, roles: ["admin", "user"] },
];

/** What a role can go to. */
export function navigationOf(role: "admin" | "user"): readonly NavigationEntry[] {
  return NAVIGATION.filter(({ roles }) => roles.includes(role));
}
